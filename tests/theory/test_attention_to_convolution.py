"""Compiled layers: the bound holds for every input, borders are exact, and the footprint is the smallest."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgrid.attention import (
    DropoutPerBatch,
    DropoutPerImage,
    FullHeads,
    GroupedValues,
    HeadsOfWidth,
    MergedValues,
    MultiheadAttentionConfig,
    ProjectedValues,
)
from headgrid.scores import (
    ContentConfig,
    GeneralizedQuadraticConfig,
    GridCenters,
    LearnedPositionConfig,
    QuadraticConfig,
    RandomCenters,
)
from headgrid.theory import CompiledAttention, attention_to_convolution, theorem_1
from headgrid.theory.footprint import Footprint, smallest_footprint
from headgrid.theory.shift_scores import shift_scores

VALUES = {
    "merged": (MergedValues(), FullHeads()),
    "grouped": (GroupedValues(2), FullHeads()),
    "projected": (ProjectedValues(bias=True), HeadsOfWidth(3)),
}


def _layer(position, values="merged", num_heads=4, grid=(12, 15)):
    merged, heads = VALUES[values]
    config = MultiheadAttentionConfig(num_heads=num_heads, scores=(position,), values=merged, heads=heads)
    return config.build(8, grid, output_dim=6).double().eval()


def _local_learned_layer(grid=(12, 15), **options):
    """Tables whose scores fall off with the distance from a shift, with noise: no Gaussian."""
    layer = _layer(LearnedPositionConfig(size_per_axis=3), grid=grid, **options)
    score = layer.score.terms[0]
    with torch.no_grad():
        for table in (score.encoding.row_table, score.encoding.column_table):
            shifts = torch.arange(len(table), dtype=torch.float64) - len(table) // 2
            table.copy_(-(shifts - 0.7).abs()[:, None] + 0.5 * torch.rand_like(table))
        for vectors in (score.row_vectors, score.column_vectors):
            vectors.weight.uniform_(0.5, 1.5)
    return layer


LAYERS = {
    "quadratic": lambda **options: _layer(QuadraticConfig(GridCenters(0.9)), **options),
    "generalized": lambda **options: _layer(GeneralizedQuadraticConfig(GridCenters(0.9)), **options),
    "learned": _local_learned_layer,
}


CASES = {
    "kind": st.sampled_from(["quadratic", "generalized", "learned"]),
    "values": st.sampled_from(list(VALUES)),
    "num_heads": st.integers(1, 5),
    "grid": st.tuples(st.integers(5, 13), st.integers(5, 13)),
    "center_std": st.sampled_from([0.3, 1.0]),
    "spread": st.sampled_from([1.0, 1.7, 3.0]),
    "tolerance": st.sampled_from([0.2, 3e-2, 1e-3, 1e-6, 1e-10]),
    "seed": st.integers(0, 2**31),
}


def _random_layer(kind, values, num_heads, grid, center_std, spread, seed):
    torch.manual_seed(seed)
    if kind == "learned":
        return _local_learned_layer(grid=grid, values=values, num_heads=num_heads)
    config = QuadraticConfig if kind == "quadratic" else GeneralizedQuadraticConfig
    layer = _layer(config(RandomCenters(center_std, 0.2)), values, num_heads, grid)
    with torch.no_grad():
        layer.score.terms[0].spreads.mul_(spread)
    return layer


def _worst_pixels(layer, footprint, grid):
    """Ones inside of the footprint of a middle query, minus ones outside: what a truncation minds most."""
    rows, columns = footprint.interior(*grid)
    row, column = (rows.start + rows.stop) // 2, (columns.start + columns.stop) // 2
    first_row, first_column = row + footprint.first_row, column + footprint.first_column
    pixels = -torch.ones(1, *grid, 8, dtype=torch.float64)
    pixels[:, first_row : first_row + footprint.num_rows, first_column : first_column + footprint.num_columns] = 1
    return torch.cat([pixels, pixels * torch.randn(8, dtype=torch.float64).sign()])


def _check_certificate(layer, tolerance):
    found = attention_to_convolution(layer, tolerance)
    if found.certificate is None:
        assert found.module is layer
        assert "exceeds half the" in found.reason
        return False
    certificate, module = found.certificate, found.module
    assert isinstance(module, CompiledAttention)
    assert found.reason is None
    assert (certificate.missed >= 0).all()
    assert (certificate.missed <= tolerance).all()
    pixels = torch.cat(
        [
            torch.randn(2, *layer.grid, 8, dtype=torch.float64),
            _worst_pixels(layer, certificate.footprint, layer.grid),
        ]
    )
    with torch.no_grad():
        expected, output = layer(pixels).values, module(pixels).values
        recorded = module(pixels, record=True)
    rounding = 1e-12 * expected.abs().max()
    for image in range(len(pixels)):
        error = (output[image] - expected[image]).abs().max()
        assert error <= certificate.bound.on(pixels[image : image + 1]) + rounding
    rows, columns = certificate.footprint.interior(*layer.grid)
    difference = output - expected
    difference[:, rows, columns] = 0
    assert difference.abs().max() <= rounding
    # What is recorded is what is computed, and sums to one.
    torch.testing.assert_close(recorded.values, output, rtol=0, atol=float(rounding) + 1e-13)
    torch.testing.assert_close(recorded.weights.sum(dim=(-2, -1)), torch.ones_like(recorded.weights[..., 0, 0]))
    missed = 0.5 * (recorded.weights[0] - layer.weights(*layer.grid)).abs().sum(dim=(-2, -1)).flatten(1).amax(dim=1)
    torch.testing.assert_close(missed.detach(), certificate.missed, rtol=1e-6, atol=1e-13)
    return True


@settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(**CASES)
def test_the_bound_holds(tolerance, **options):
    _check_certificate(_random_layer(**options), tolerance)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@settings(max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(**CASES)
def test_the_bound_holds_thousands_of_times(tolerance, **options):
    _check_certificate(_random_layer(**options), tolerance)


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("kind", LAYERS)
def test_every_kind_of_layer_compiles(kind, values):
    torch.manual_seed(0)
    assert _check_certificate(LAYERS[kind](values=values), 3e-2)


def test_the_bound_is_not_far_above_what_can_happen():
    """For one head, one channel and the worst pixels the error is nearly the bound."""
    config = MultiheadAttentionConfig(num_heads=1, scores=(QuadraticConfig(GridCenters(0.4)),))
    layer = config.build(1, (13, 13)).double().eval()
    found = attention_to_convolution(layer, 0.05)
    footprint = found.certificate.footprint
    assert footprint.num_rows == footprint.num_columns == 5
    pixels = -torch.ones(1, 13, 13, 1, dtype=torch.float64)
    pixels[:, 4:9, 4:9] = 1
    error = (found.module(pixels).values - layer(pixels).values).detach().abs().max()
    assert error == pytest.approx(found.certificate.bound.on(pixels), rel=1e-3)


@pytest.mark.parametrize("kind", LAYERS)
def test_the_footprint_is_the_smallest(kind):
    """Against every rectangle up to half the grid, by brute force over the maps."""
    torch.manual_seed(3)
    (height, width), tolerance = (7, 9), 0.2
    layer = LAYERS[kind](grid=(height, width), num_heads=1)
    found = smallest_footprint(shift_scores(layer, (height, width)), tolerance)

    weights = layer.weights(height, width).detach()
    by_shift = torch.zeros(1, height, width, 2 * height - 1, 2 * width - 1, dtype=torch.float64)
    for h in range(height):
        for w in range(width):
            there = by_shift[:, h, w, height - 1 - h : 2 * height - 1 - h, width - 1 - w : 2 * width - 1 - w]
            there.copy_(weights[:, h, w])

    def largest_missed(footprint):
        rows, columns = footprint.interior(height, width)
        row, column = footprint.first_row + height - 1, footprint.first_column + width - 1
        of_interior = by_shift[:, rows, columns, row : row + footprint.num_rows]
        return 1 - of_interior[..., column : column + footprint.num_columns].sum((-2, -1)).flatten(1).amin(dim=1)

    torch.testing.assert_close(found.missed, largest_missed(found.footprint), rtol=0, atol=1e-12)
    num_smaller = 0
    for rows in range(1, height // 2 + 1):
        for columns in range(1, width // 2 + 1):
            if rows * columns < found.footprint.size:
                for first_row in range(1 - height, height - rows + 1):
                    for first_column in range(1 - width, width - columns + 1):
                        num_smaller += 1
                        assert largest_missed(Footprint(first_row, first_column, rows, columns)).max() > tolerance
    assert num_smaller > 100


def test_a_converted_convolution_compiles_back_into_itself():
    torch.manual_seed(0)
    conv = torch.nn.Conv2d(5, 7, (3, 2), dilation=(2, 1)).double()
    layer = theorem_1(conv).eval()
    found = attention_to_convolution(layer, 1e-12, (12, 9))
    assert found.certificate.footprint == Footprint(-2, 0, 5, 2)
    torch.testing.assert_close(found.module.kernel[:, :, ::2], conv.weight.detach(), rtol=0, atol=1e-15)
    assert found.module.kernel[:, :, 1::2].abs().max() < 1e-15
    torch.testing.assert_close(found.module.bias, conv.bias.detach())


def test_footprints_beside_the_query():
    """All heads look far to the right: the footprint does not contain the query itself."""
    layer = MultiheadAttentionConfig(num_heads=1).build(3, (9, 14)).double().eval()
    with torch.no_grad():
        layer.score.terms[0].centers.copy_(torch.tensor([[2.0, 4.0]]))
        layer.score.terms[0].spreads.fill_(6.0)
    found = attention_to_convolution(layer, 1e-6)
    assert found.certificate.footprint == Footprint(2, 4, 1, 1)
    assert found.certificate.footprint.interior(9, 14) == (slice(0, 7), slice(0, 10))
    pixels = torch.randn(2, 9, 14, 3, dtype=torch.float64)
    torch.testing.assert_close(found.module(pixels).values, layer(pixels).values, rtol=0, atol=1e-5)


@pytest.mark.parametrize("grid", [(12, 15), (12, 9), (7, 15), (6, 6), (3, 15), (2, 2)])
def test_the_certificate_holds_on_smaller_maps(grid):
    torch.manual_seed(0)
    layer = LAYERS["quadratic"]()
    found = attention_to_convolution(layer, 1e-2)
    pixels = torch.cat([torch.randn(2, *grid, 8), torch.randn(2, *grid, 8).sign()]).double()
    with torch.no_grad():
        error = (found.module(pixels).values - layer(pixels).values).abs().max()
        recorded = found.module(pixels, record=True)
    assert error <= found.certificate.bound.on(pixels) + 1e-13
    torch.testing.assert_close(recorded.values, found.module(pixels).values, rtol=0, atol=1e-13)
    rows, columns = found.certificate.footprint.interior(*grid)
    if rows.start == rows.stop or columns.start == columns.stop:
        assert error == 0


def test_larger_maps_are_refused():
    found = attention_to_convolution(LAYERS["quadratic"](), 1e-2)
    with pytest.raises(
        ValueError, match="compiled for maps of up to 12 x 15 pixels, got 12 x 16: compile it again"
    ):
        found.module(torch.zeros(1, 12, 16, 8, dtype=torch.float64))


def test_wide_heads_stay_attention():
    layer = _layer(QuadraticConfig())
    with torch.no_grad():
        layer.score.terms[0].spreads[2] = 0.05
    found = attention_to_convolution(layer, 1e-3)
    assert found.module is layer
    assert found.certificate is None
    assert found.reason.startswith(
        "a footprint that leaves out at most 0.001 of each head's attention exceeds half the 12 x 15 grid; "
        "the best within it, 6 x 7, leaves out 0."
    )


def test_scores_that_are_no_numbers_stay_attention():
    layer = LAYERS["quadratic"]()
    with torch.no_grad():
        layer.score.terms[0].spreads[0] = float("nan")
    found = attention_to_convolution(layer, 1e-3)
    assert found.certificate is None
    assert found.module is layer


def test_content_stays_attention():
    config = MultiheadAttentionConfig(
        num_heads=4, scores=(QuadraticConfig(), ContentConfig()), dropout=DropoutPerImage(0.0)
    )
    found = attention_to_convolution(config.build(8, (6, 6)), 1e-3)
    assert found.certificate is None
    assert "depends on the image" in found.reason


def test_scores_that_depend_on_where_a_pixel_stands_are_found_out():
    layer = _layer(QuadraticConfig(), grid=(4, 5))
    score = layer.score.terms[0]
    parts = score((4, 5))
    shifted = type(parts)(rows=parts.rows * torch.arange(1, 5).double()[:, None, None], columns=parts.columns)
    score.forward = lambda grid, query=None, key=None: shifted
    with pytest.raises(ValueError, match="depends on where a pixel stands"):
        shift_scores(layer, (4, 5))


@pytest.mark.parametrize("kind", LAYERS)
def test_shift_scores_are_those_of_the_layer(kind):
    layer = LAYERS[kind](grid=(4, 6))
    table = shift_scores(layer, (4, 6))
    parts = layer.score((4, 6))
    scores = torch.zeros(4, 4, 6, 4, 6, dtype=torch.float64)
    if parts.rows is not None:
        scores = scores + parts.rows[0, ..., None] + parts.columns[0, ..., None, :]
    if parts.dense is not None:
        scores = scores + parts.dense
    for h, w, y, x in [(0, 0, 3, 5), (3, 5, 0, 0), (1, 2, 2, 1), (2, 4, 0, 5)]:
        torch.testing.assert_close(table[:, 3 + y - h, 5 + x - w], scores[:, h, w, y, x].detach())


def test_training_mode_and_gradients():
    """A compiled layer has no dropout and no parameters of its own that train; pixels get gradients."""
    config = MultiheadAttentionConfig(
        num_heads=4, scores=(QuadraticConfig(GridCenters(1.0)),), dropout=DropoutPerBatch(0.5)
    )
    layer = config.build(4, (9, 9)).double().train()
    found = attention_to_convolution(layer, 0.05)
    module = found.module.train()
    assert not any(part.training for part in module.modules())
    assert not any(parameter.requires_grad for parameter in module.parameters())
    assert layer.training
    pixels = torch.randn(1, 9, 9, 4, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(module(pixels).values, module(pixels).values)
    direction = torch.randn(1, 9, 9, 4, dtype=torch.float64)
    (gradient,) = torch.autograd.grad(module(pixels).values, pixels, direction)
    (explicit,) = torch.autograd.grad(module(pixels, record=True).values, pixels, direction)
    torch.testing.assert_close(gradient, explicit)


@pytest.mark.parametrize("tolerance", [0.0, 1.0, -1e-3])
def test_the_tolerance_is_a_share(tolerance):
    with pytest.raises(ValueError, match="a share of attention between 0 and 1"):
        attention_to_convolution(LAYERS["quadratic"](), tolerance)


@pytest.mark.slow
def test_the_interior_costs_what_a_convolution_costs():
    """At most 1.3 times nn.Conv2d of the same footprint; the best of many runs, side by side."""
    import time

    layer = MultiheadAttentionConfig(scores=(QuadraticConfig(GridCenters(1.0)),)).build(256, (16, 16)).eval()
    found = attention_to_convolution(layer, 1e-2)
    footprint = found.certificate.footprint
    conv = torch.nn.Conv2d(256, 256, (footprint.num_rows, footprint.num_columns))
    pixels = torch.randn(16, 16, 16, 256)
    images = pixels.permute(0, 3, 1, 2).contiguous()
    interior, convolution = [], []
    with torch.no_grad():
        for _ in range(30):
            for run, times in (
                (lambda: found.module.interior(pixels), interior),
                (lambda: conv(images), convolution),
            ):
                start = time.perf_counter()
                run()
                times.append(time.perf_counter() - start)
    assert min(interior) <= 1.3 * min(convolution)
