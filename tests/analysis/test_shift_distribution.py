"""Distributions over shifts, and where and how widely heads look, against loops over images, queries and keys."""

import math
from collections import defaultdict

import pytest
import torch
from made_records import (
    PLACEMENT,
    STRIDED,
    gaussian_maps,
    in_loops,
    num_queries,
    one_shift,
    random_layer,
    record_of,
)

from headgrid.analysis.attention_record import LayerAttention, Placement
from headgrid.analysis.locality import covariances, mean_distances, mean_shifts, non_localities, spreads
from headgrid.analysis.shift_distribution import shift_distribution, shift_distributions
from headgrid.geometry import kernel_shifts
from headgrid.theory import head_to_shift

PLACEMENTS = pytest.mark.parametrize("placement", [PLACEMENT, STRIDED], ids=["grid", "strided"])


def _distribution(layer):
    return shift_distribution(layer.weights.mean(dim=0), layer.placement)


@PLACEMENTS
def test_against_loops(placement):
    layer = random_layer(placement=placement)
    distribution = _distribution(layer)
    shifts = {tuple(shift): index for index, shift in enumerate(distribution.shifts().flatten(0, 1).tolist())}
    for head in range(2):
        sums, counts = defaultdict(float), defaultdict(int)
        for _, _, shift, share in in_loops(layer, head):
            sums[shift] += share
            counts[shift] += 1
        assert set(sums) <= set(shifts)
        for shift, index in shifts.items():
            shares = distribution.shares[head].flatten()
            assert float(shares[index]) == pytest.approx(sums[shift] / (3 * num_queries(layer)))
            assert int(distribution.num_queries.flatten()[index]) == counts[shift] / 3
            mass = sums[shift] / counts[shift] if counts[shift] else 0.0
            assert float(distribution.masses[head].flatten()[index]) == pytest.approx(mass)
            assert float(distribution.mass(shift)[head]) == pytest.approx(mass)
        assert distribution.peak_shifts()[head] == max(sums, key=lambda shift: sums[shift])


@PLACEMENTS
def test_locality_against_loops(placement):
    layer = random_layer(placement=placement)
    distribution = _distribution(layer)
    total = 3 * num_queries(layer)
    for head in range(2):
        pairs = [(shift, share) for _, _, shift, share in in_loops(layer, head)]
        mean = [sum(share * shift[axis] for shift, share in pairs) / total for axis in (0, 1)]
        assert mean_shifts(distribution)[head].tolist() == pytest.approx(mean)
        covariance = [
            sum(s * (shift[i] - mean[i]) * (shift[j] - mean[j]) for shift, s in pairs) / total
            for i in (0, 1)
            for j in (0, 1)
        ]
        assert covariances(distribution)[head].flatten().tolist() == pytest.approx(covariance)
        spread = math.sqrt(sum(s * math.dist(shift, mean) ** 2 for shift, s in pairs) / total)
        assert float(spreads(distribution)[head]) == pytest.approx(spread)
        distance = sum(share * math.hypot(*shift) for shift, share in pairs) / total
        assert float(mean_distances(distribution)[head]) == pytest.approx(distance)
        in_image = sum(share * math.hypot(2 * shift[0], 3 * shift[1]) for shift, share in pairs) / total
        assert float(mean_distances(distribution, placement.pixel_size)[head]) == pytest.approx(in_image)
        uniform = sum(math.hypot(*shift) for shift, _ in pairs) / len(pairs)
        assert float(non_localities(distribution)[head]) == pytest.approx(distance / uniform)


def test_agrees_with_the_theory_about_heads_and_shifts():
    layer = random_layer()
    expected, found = head_to_shift(layer.weights), _distribution(layer)
    torch.testing.assert_close(found.shares, expected.distribution)
    assert found.peak_shifts() == [tuple(shift) for shift in expected.peak_shift.tolist()]
    for head, shift in enumerate(found.peak_shifts()):
        assert float(found.mass(shift)[head]) == pytest.approx(float(expected.peak_mass[head]))


def test_heads_of_lemma_1_have_all_their_mass_on_one_shift():
    shifts = [(row, column) for row, column in kernel_shifts((3, 3)).tolist()]
    maps = torch.stack([one_shift(4, 6, shift) for shift in shifts])
    distribution = shift_distribution(maps, Placement.of_grid((4, 6), (4, 6)))
    assert distribution.peak_shifts() == shifts
    for head, shift in enumerate(shifts):
        assert float(distribution.mass(shift)[head]) == 1
    interior = shift_distribution(maps, Placement.of_grid((4, 6), (4, 6)), margin=1)
    assert mean_shifts(interior).tolist() == [list(shift) for shift in shifts]
    assert spreads(interior).tolist() == [0.0] * 9


def test_uniform_attention():
    maps = torch.full((1, 3, 4, 3, 4), 1 / 12, dtype=torch.float64)
    distribution = shift_distribution(maps, PLACEMENT)
    assert distribution.peak_shifts() == [(0, 0)]
    assert float(distribution.mass((0, 0))) == pytest.approx(1 / 12)
    assert float(non_localities(distribution)) == pytest.approx(1)
    torch.testing.assert_close(mean_shifts(distribution), torch.zeros(1, 2, dtype=torch.float64))


def test_a_map_of_one_pixel():
    distribution = shift_distribution(torch.ones(1, 1, 1, 1, 1), Placement.of_grid((1, 1), (4, 4)))
    assert float(non_localities(distribution)) == 0
    assert distribution.mass((0, 1)).tolist() == [0.0]


def test_mean_shift_and_covariance_of_quadratic_heads_are_their_parameters_in_the_interior():
    """A sampled Gaussian with alpha <= 1/2 has the moments of the continuous one, to many digits."""
    centers, sharpness = [(1.25, -2.5), (-3.0, 0.75)], [0.4, 0.25]
    maps = gaussian_maps(centers, sharpness, 28, 32)
    placement = Placement.of_grid((28, 32), (28, 32))
    interior = shift_distribution(maps, placement, margin=13)
    torch.testing.assert_close(mean_shifts(interior), torch.tensor(centers, dtype=torch.float64), atol=1e-4, rtol=0)
    expected = torch.stack([torch.eye(2, dtype=torch.float64) / (2 * alpha) for alpha in sharpness])
    torch.testing.assert_close(covariances(interior), expected, atol=1e-3, rtol=0)
    # The border pulls the mean of all queries towards zero.
    everywhere = mean_shifts(shift_distribution(maps, placement))
    assert (everywhere.abs() < torch.tensor(centers).abs()).all()


def test_over_batches_it_is_that_of_the_mean_over_all_images():
    whole, tokens = random_layer(num_images=5), random_layer(num_images=5, num_tokens=1, name="with tokens")
    parts = [
        record_of(*(LayerAttention(of.name, of.weights[images], of.placement) for of in (whole, tokens)))
        for images in (slice(0, 2), slice(2, 5))
    ]
    found = shift_distributions(parts)
    assert list(found) == ["layer", "with tokens"]
    torch.testing.assert_close(found["layer"].shares, _distribution(whole).shares)
    shares = tokens.weights / tokens.weights.sum(dim=(-2, -1), keepdim=True)
    torch.testing.assert_close(
        found["with tokens"].shares, shift_distribution(shares.mean(dim=0), PLACEMENT).shares
    )
    torch.testing.assert_close(found["with tokens"].shares.sum(dim=(1, 2)), torch.ones(2, dtype=torch.float64))


def test_a_margin_without_queries():
    with pytest.raises(ValueError, match="choose a smaller margin"):
        shift_distribution(torch.full((1, 3, 4, 3, 4), 1 / 12), PLACEMENT, margin=2)
