"""Heads assigned to the shifts of a kernel, against all assignments; kernels recognised by their shifts."""

import sys
from itertools import permutations, product

import pytest
import torch
from made_records import PLACEMENT, STRIDED, one_shift, random_layer
from torch import nn

from headgrid.analysis import KernelShape, measure_attention
from headgrid.analysis.attention_record import Placement
from headgrid.analysis.kernel_cover import best_cover, covered_kernel_size, largest_kernel
from headgrid.analysis.kernel_shape import kernel_shape
from headgrid.analysis.measures import HeadMeasures
from headgrid.analysis.shift_distribution import shift_distribution
from headgrid.geometry import kernel_shifts
from headgrid.models import ResNetConfig
from headgrid.theory import convert_convolution, convert_network


def distribution_of(num_heads, seed, placement=PLACEMENT):
    layer = random_layer(num_images=1, num_heads=num_heads, placement=placement, seed=seed)
    return shift_distribution(layer.weights[0], placement)


@pytest.mark.parametrize("placement", [PLACEMENT, STRIDED], ids=["grid", "strided"])
@pytest.mark.parametrize("num_heads", [4, 5, 6])
@pytest.mark.parametrize("seed", range(3))
def test_best_cover_is_the_best_of_all_assignments(num_heads, seed, placement):
    distribution = distribution_of(num_heads, seed, placement)
    shifts = [tuple(shift) for shift in kernel_shifts((2, 2)).tolist()]
    cover = best_cover(distribution, 2)
    best = max(
        sum(float(distribution.mass(shift)[head]) for head, shift in zip(heads, shifts, strict=True))
        for heads in permutations(range(num_heads), 4)
    )
    assert cover.shifts == tuple(shifts)
    assert len(set(cover.heads)) == 4
    assert cover.masses == tuple(
        float(distribution.mass(shift)[head]) for head, shift in zip(cover.heads, shifts, strict=True)
    )
    assert sum(cover.masses) == pytest.approx(best)
    assert cover.mean_mass == pytest.approx(best / 4)


@pytest.mark.parametrize("seed", range(20))
def test_covered_size_is_that_of_some_assignment(seed):
    """Heads on random neighbouring shifts, more or less pure: the largest K that any assignment reaches."""
    generator = torch.Generator().manual_seed(seed)
    shifts = [tuple(shift) for shift in kernel_shifts((2, 2)).tolist()]
    chosen = torch.randint(0, 4, (6,), generator=generator).tolist()
    purity = torch.rand(6, generator=generator, dtype=torch.float64)
    maps = torch.stack(
        [
            share * one_shift(4, 5, shifts[index]) + (1 - share) / 20
            for share, index in zip(purity.tolist(), chosen, strict=True)
        ]
    )
    distribution = shift_distribution(maps, Placement.of_grid((4, 5), (4, 5)))
    for tolerance in (0.0, 0.3, 0.6, 0.9, 0.99):
        expected = 0
        for size in (1, 2):
            of_kernel = [tuple(shift) for shift in kernel_shifts((size, size)).tolist()]
            if any(
                all(float(distribution.mass(s)[h]) >= 1 - tolerance for h, s in zip(heads, of_kernel, strict=True))
                for heads in permutations(range(6), size * size)
            ):
                expected = size
        assert covered_kernel_size(distribution, tolerance) == expected


def test_a_matching_is_found_where_the_best_mean_misses_it():
    """The best mean leaves the second shift to head 1 with 0.35; swapped, both shifts have 0.4."""
    shifts = [tuple(shift) for shift in kernel_shifts((2, 2)).tolist()]
    masses = torch.tensor(
        [[0.6, 0.4, 0.0, 0.0], [0.4, 0.35, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]],
        dtype=torch.float64,
    )
    maps = torch.zeros(4, 3, 4, 4, 5, dtype=torch.float64)  # of the queries whose four pixels all exist
    for index, shift in enumerate(shifts):
        maps += masses[:, index, None, None, None, None] * one_shift(4, 5, shift)[:3, :4]
    maps[1, ..., 3, 4] += 0.25  # what is left of head 1 lies on a fixed pixel
    placement = Placement((4, 5), (0, 1, 2), (0, 1, 2, 3), (1.0, 1.0))
    distribution = shift_distribution(maps, placement)
    cover = best_cover(distribution, 2)
    assert cover.heads == (0, 1, 2, 3)
    assert min(cover.masses) < 0.39
    assert covered_kernel_size(distribution, 0.61) == 2
    assert covered_kernel_size(distribution, 0.5) == 1


def test_largest_kernel():
    assert [largest_kernel(distribution_of(heads, 0)) for heads in (1, 3, 4, 8, 9)] == [1, 1, 2, 2, 3]


def test_a_kernel_larger_than_the_map_has_no_mass_there():
    cover = best_cover(shift_distribution(torch.full((9, 1, 2, 1, 2), 0.5), Placement.of_grid((1, 2), (1, 2))), 3)
    assert sorted(cover.masses) == [0.0] * 6 + [0.5] * 3


def test_without_scipy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(ValueError, match=r"needs scipy: pip install 'headgrid\[analysis\]'"):
        best_cover(distribution_of(1, 0), 1)


def heads_at(*shifts, mass=1.0):
    zero = ((0.0, 0.0), (0.0, 0.0))
    return [
        HeadMeasures(
            "layer", index, 1, tuple(shift), mass, (0.0, 0.0), zero, None, None, *[0.0] * 5, None, *[0.0] * 2
        )
        for index, shift in enumerate(shifts)
    ]


def kernel(size, dilation, middle):
    along = [
        [middle[axis] + dilation[axis] * (position - (size[axis] - 1) // 2) for position in range(size[axis])]
        for axis in (0, 1)
    ]
    return list(product(*along))


@pytest.mark.parametrize("size", [(1, 1), (2, 2), (3, 3), (5, 3), (1, 4)])
@pytest.mark.parametrize("dilation", [(1, 1), (2, 2), (1, 3)])
@pytest.mark.parametrize("middle", [(0, 0), (1, -2)])
def test_kernels_are_recognised_in_any_order_and_not_without_one_of_their_shifts(size, dilation, middle):
    shifts = kernel(size, dilation, middle)
    order = torch.randperm(len(shifts), generator=torch.Generator().manual_seed(0)).tolist()
    found = kernel_shape(heads_at(*[shifts[index] for index in order]), 0.1)
    told = tuple(step if length > 1 else 1 for step, length in zip(dilation, size, strict=True))
    assert found == KernelShape(size, told, middle)
    if len(shifts) > 4:
        for index in range(len(shifts)):
            assert kernel_shape(heads_at(*shifts[:index], *shifts[index + 1 :]), 0.1) is None


@pytest.mark.parametrize("seed", range(50))
def test_against_all_kernels(seed):
    generator = torch.Generator().manual_seed(seed)
    number = int(torch.randint(1, 5, (), generator=generator))
    shifts = [tuple(shift) for shift in torch.randint(-1, 2, (number, 2), generator=generator).tolist()]
    known = {
        frozenset(kernel(size, dilation, middle)): (size, dilation, middle)
        for size in product((1, 2, 3, 4), repeat=2)
        for dilation in product((1, 2), repeat=2)
        if all(length > 1 or step == 1 for length, step in zip(size, dilation, strict=True))
        for middle in product(range(-2, 3), repeat=2)
    }
    expected = known.get(frozenset(shifts)) if len(set(shifts)) == number else None
    found = kernel_shape(heads_at(*shifts), 0.1)
    assert (None if found is None else (found.size, found.dilation, found.middle)) == expected


def test_heads_that_look_elsewhere_too_are_no_kernel():
    shifts = kernel((2, 2), (1, 1), (0, 0))
    assert kernel_shape(heads_at(*shifts, mass=0.9), 0.1) is not None
    assert kernel_shape(heads_at(*shifts, mass=0.89), 0.1) is None
    assert kernel_shape(heads_at(*shifts, shifts[0]), 0.1) is None


CONVOLUTIONS = {
    "3 x 3": ({"kernel_size": 3, "padding": 1}, KernelShape((3, 3), (1, 1), (0, 0)), 3),
    "5 x 3": ({"kernel_size": (5, 3), "padding": (2, 1)}, KernelShape((5, 3), (1, 1), (0, 0)), 3),
    "dilated": ({"kernel_size": 3, "padding": 2, "dilation": 2}, KernelShape((3, 3), (2, 2), (0, 0)), 1),
    "dilated by rows": (
        {"kernel_size": 3, "padding": (3, 1), "dilation": (3, 1)}, KernelShape((3, 3), (3, 1), (0, 0)), 1
    ),
    "with a stride": ({"kernel_size": 3, "padding": 1, "stride": 2}, KernelShape((3, 3), (1, 1), (0, 0)), 3),
    "even": ({"kernel_size": 2, "padding": "same"}, KernelShape((2, 2), (1, 1), (0, 0)), 2),
    "1 x 1": ({"kernel_size": 1}, KernelShape((1, 1), (1, 1), (0, 0)), 1),
}  # fmt: skip


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_a_convolution_converted_by_theorem_1_is_recognised_with_every_shift(name):
    options, shape, covered = CONVOLUTIONS[name]
    torch.manual_seed(0)
    convolution = nn.Conv2d(3, 4, **options)
    images = torch.randn(2, 3, 8, 11)
    (layer,) = measure_attention(nn.Sequential(convert_convolution(convolution)), [images]).layers
    assert layer.convolution == shape
    assert layer.covered_kernel_size == covered
    assert sorted(head.peak_shift for head in layer.heads) == sorted(
        kernel(shape.size, shape.dilation, shape.middle)
    )
    for head in layer.heads:
        assert head.peak_mass == pytest.approx(1, abs=1e-6)
        assert head.spread == pytest.approx(0, abs=1e-3)
        assert head.entropy == pytest.approx(0, abs=1e-5)
        assert head.mean_shift == pytest.approx(head.peak_shift, abs=1e-5)
        assert head.content_variance == 0
        assert head.translation_invariance == pytest.approx(1, abs=1e-5)
    if len(layer.heads) > 1:
        rows, columns = shape.size
        assert layer.sentence.startswith(f"Like a {rows} x {columns} convolution")
        assert "every shift has a head of its own, with all of its attention" in layer.sentence


def test_every_layer_of_a_converted_network_is_recognised():
    torch.manual_seed(0)
    network = convert_network(ResNetConfig(blocks_per_stage=(1, 1), width=4, image_size=(8, 12)).build()).model
    measures = measure_attention(network, [torch.randn(2, 3, 8, 12)])
    sizes = [layer.convolution.size for layer in measures.layers if layer.convolution is not None]
    assert len(sizes) == len(measures.layers) == 6
    assert sizes.count((3, 3)) == 5
    assert sizes.count((1, 1)) == 1
