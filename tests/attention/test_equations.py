"""Every kind of score and values: both paths against loops over pixels, and their gradients against each other.

Maps are never square, and smaller than learned tables, so that swapped axes and shifted entries show. They have
more pixels than a head has channels, so that content takes the fused kernel where no map is asked for.
"""

import pytest
import torch
from kinds import CONTENT_SCORES, SCORES, VALUES, random_layer, random_pixels
from loops import attention_in_loops

from headgrid.ops import map_is_faster


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("scores", SCORES)
def test_both_paths_follow_the_equations(scores, values):
    layer, pixels = random_layer(scores, values), random_pixels()
    expected, weights = attention_in_loops(layer, pixels)
    explicit = layer(pixels, record=True)
    torch.testing.assert_close(explicit.weights, weights, rtol=0, atol=1e-12)
    torch.testing.assert_close(explicit.values, expected, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(layer(pixels).values, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("scores", SCORES)
def test_more_heads_and_channels_on_a_larger_map(scores):
    layer = random_layer(scores, "split", num_heads=4, dim=16, grid=(4, 8), output_dim=5)
    pixels = random_pixels(1, 4, 7, 16)
    expected, weights = attention_in_loops(layer, pixels)
    output = layer(pixels, record=True)
    assert output.values.shape == (1, 4, 7, 5)
    torch.testing.assert_close(output.weights, weights, rtol=0, atol=1e-12)
    torch.testing.assert_close(output.values, expected, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(layer(pixels).values, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("scores", ["query-position", "query-position + content", "equation 8"])
def test_queries_and_keys_without_bias(scores):
    layer, pixels = random_layer(scores, query_key_bias=False), random_pixels()
    assert layer.query.bias is None
    expected, weights = attention_in_loops(layer, pixels)
    torch.testing.assert_close(layer(pixels, record=True).weights, weights, rtol=0, atol=1e-12)
    torch.testing.assert_close(layer(pixels).values, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("training", [False, True], ids=["eval", "training"])
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("scores", SCORES)
def test_both_paths_have_the_same_gradients(scores, values, training):
    layer, pixels = random_layer(scores, values, grid=(7, 6)).train(training), random_pixels(2, 7, 4)
    inputs = {"pixels": pixels, **dict(layer.named_parameters())}
    direction = torch.randn_like(pixels)
    fast = torch.autograd.grad(layer(pixels).values, list(inputs.values()), direction)
    slow = torch.autograd.grad(layer(pixels, record=True).values, list(inputs.values()), direction)
    for name, first, second in zip(inputs, fast, slow, strict=True):
        torch.testing.assert_close(first, second, rtol=1e-11, atol=1e-11, msg=lambda m, n=name: f"{n}: {m}")


def test_the_maps_above_are_large_enough_for_the_fused_kernel():
    """All but dense scores, which are written out on a CPU; the operator's own tests cover them."""
    for scores in CONTENT_SCORES:
        layer = random_layer(scores)
        for pixels in (random_pixels(), random_pixels(2, 7, 4)):
            assert not map_is_faster(pixels, layer.head_dim, dense=False, dropout=0.0)
