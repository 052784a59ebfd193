"""Gated positional attention against its equation written out pixel by pixel."""

import math

import pytest
import torch

from headgrid.attention import (
    DropoutPerImage,
    FullHeads,
    GatedPositionalAttentionConfig,
    GroupedValues,
    HeadsOfWidth,
    MergedValues,
    ProjectedValues,
    SplitHeads,
)
from headgrid.scores import GeneralizedQuadraticConfig, GridCenters, LearnedPositionConfig, QuadraticConfig

POSITIONS = {
    "quadratic": QuadraticConfig(GridCenters(0.7)),
    "generalized": GeneralizedQuadraticConfig(),
    "learned": LearnedPositionConfig(size_per_axis=3),
}
VALUES = {
    "merged": (MergedValues(), FullHeads()),
    "grouped": (GroupedValues(2), FullHeads()),
    "projected": (ProjectedValues(bias=True), HeadsOfWidth(5)),
    "split": (ProjectedValues(), SplitHeads()),
}


def _layer(position="quadratic", values="merged", **options):
    torch.manual_seed(0)
    merged, heads = VALUES[values]
    config = GatedPositionalAttentionConfig(
        num_heads=4, position=POSITIONS[position], values=merged, heads=heads, **options
    )
    layer = config.build(8, (4, 5), output_dim=6)
    with torch.no_grad():
        layer.gate.copy_(torch.tensor([-2.0, 0.0, 1.0, 3.0]))
    return layer.double()


def _by_the_equation(layer, pixels):
    """One query, one head and one key at a time."""
    height, width, _ = pixels.shape
    query, key = (
        linear(pixels).unflatten(-1, (layer.num_heads, layer.head_dim)) for linear in (layer.query, layer.key)
    )
    parts = layer.position((height, width))
    weights = pixels.new_zeros(layer.num_heads, height, width, height, width)
    for head in range(layer.num_heads):
        gate = 1 / (1 + math.exp(-layer.gate[head].item()))
        for h in range(height):
            for w in range(width):
                content = torch.einsum("d,yxd->yx", query[h, w, head], key[:, :, head]) / math.sqrt(layer.head_dim)
                if parts.dense is not None:
                    position = parts.dense[head, h, w]
                else:
                    position = parts.rows[0, head, h, 0][:, None] + parts.columns[0, head, 0, w][None]
                weights[head, h, w] = (1 - gate) * content.exp() / content.exp().sum()
                weights[head, h, w] += gate * position.exp() / position.exp().sum()
    values = pixels if layer.value is None else layer.value(pixels)
    if layer.value is not None:
        values = values.unflatten(-1, (layer.num_heads, layer.head_dim))
        heads = torch.einsum("nhwyx,yxnd->hwnd", weights, values)
    else:
        heads = torch.einsum("nhwyx,yxd->hwnd", weights, values)
    matrices = layer.mixing.head_matrices
    return torch.einsum("hwnd,ndo->hwo", heads, matrices) + layer.mixing.bias, weights


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("position", POSITIONS)
def test_follows_its_equation(position, values):
    layer = _layer(position, values)
    pixels = torch.randn(2, 4, 5, 8, dtype=torch.float64)
    fast, slow = layer(pixels), layer(pixels, record=True)
    for image in range(2):
        expected, weights = _by_the_equation(layer, pixels[image])
        torch.testing.assert_close(fast.values[image], expected)
        torch.testing.assert_close(slow.values[image], expected)
        torch.testing.assert_close(slow.weights[image], weights)
    assert fast.weights is None


@pytest.mark.parametrize("position", POSITIONS)
def test_fast_and_explicit_path_have_the_same_gradients(position):
    layer = _layer(position)
    pixels = torch.randn(2, 4, 5, 8, dtype=torch.float64, requires_grad=True)
    inputs = [pixels, *layer.parameters()]
    direction = torch.randn(2, 4, 5, 6, dtype=torch.float64)
    fast = torch.autograd.grad(layer(pixels).values, inputs, direction)
    slow = torch.autograd.grad(layer(pixels, record=True).values, inputs, direction)
    torch.testing.assert_close(fast, slow)


def test_gates_of_both_extremes():
    layer = _layer()
    pixels = torch.randn(1, 4, 5, 8, dtype=torch.float64)
    with torch.no_grad():
        layer.gate.fill_(60.0)
        positions = layer(pixels, record=True).weights
        layer.gate.fill_(-60.0)
        contents = layer(pixels, record=True).weights
    parts = layer.position((4, 5))
    scores = parts.rows[0, :, :, :, :, None] + parts.columns[0, :, :, :, None, :]
    torch.testing.assert_close(positions[0], torch.softmax(scores.flatten(3), -1).view_as(scores))
    assert (contents - positions).abs().max() > 0.1


def test_starts_with_the_share_of_its_config():
    layer = GatedPositionalAttentionConfig(num_heads=4, gate=2.0).build(8, (4, 5))
    torch.testing.assert_close(layer.position_share, torch.full((4,), 1 / (1 + math.exp(-2.0))))


def test_some_queries_and_a_given_key():
    layer = _layer("generalized")
    pixels = torch.randn(2, 4, 5, 8, dtype=torch.float64)
    key = torch.randn(2, 4, 4, 5, 8, dtype=torch.float64)
    queries = (slice(1, 4, 2), slice(0, 5, 3))
    everywhere, there = layer(pixels, key), layer(pixels, key, queries=queries)
    torch.testing.assert_close(there.values, everywhere.values[:, queries[0], queries[1]])
    torch.testing.assert_close(there.key, key)
    assert not torch.allclose(everywhere.values, layer(pixels).values, atol=1e-3)


def test_dropout_acts_in_training_only_and_keeps_the_mean():
    layer = _layer(dropout=DropoutPerImage(0.3)).float()
    pixels = torch.randn(1, 4, 5, 8)
    expected = layer.eval()(pixels).values
    torch.testing.assert_close(expected, layer(pixels, record=True).values)
    layer.train()
    drawn = layer(pixels.expand(4000, -1, -1, -1)).values
    assert not torch.allclose(drawn[0], expected[0], atol=1e-3)
    torch.testing.assert_close(drawn.mean(0), expected[0], rtol=0, atol=0.05)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype):
    layer = _layer().to(dtype)
    pixels = torch.randn(2, 4, 5, 8).to(dtype)
    output = layer(pixels).values
    assert output.dtype == dtype
    torch.testing.assert_close(output, layer(pixels, record=True).values, rtol=0, atol=3e-2)


def test_grid_centres_need_a_square_number_of_heads():
    with pytest.raises(ValueError, match="square number of heads, got 6"):
        GatedPositionalAttentionConfig(num_heads=6).build(12, (4, 5))
    with pytest.raises(ValueError, match="at least one head, got num_heads = 0"):
        GatedPositionalAttentionConfig(num_heads=0).build(12, (4, 5))
