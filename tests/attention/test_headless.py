"""Attention that pruning has left without heads: its bias, for every pixel."""

import warnings

import pytest
import torch

from headgrid.attention import HeadlessAttentionConfig, HeadlessTokenAttentionConfig, MultiheadAttentionConfig
from headgrid.geometry import TokenLayout
from headgrid.models import FullyAttentionalConfig


def test_every_pixel_gets_the_bias():
    layer = HeadlessAttentionConfig().build(4, (3, 5), output_dim=6)
    with torch.no_grad():
        layer.mixing.bias.normal_()
    pixels = torch.randn(2, 3, 5, 4)
    output = layer(pixels)
    assert output.weights is None
    assert torch.equal(output.values, layer.mixing.bias.expand(2, 3, 5, 6))
    recorded = layer(pixels, record=True)
    assert recorded.weights.shape == (2, 0, 3, 5, 3, 5)
    assert torch.equal(recorded.values, output.values)
    some = layer(pixels, record=True, queries=(slice(1), torch.tensor([0, 2])))
    assert some.values.shape == (2, 1, 2, 6)
    assert some.weights.shape == (2, 0, 1, 2, 3, 5)


def test_every_token_gets_the_bias():
    layout = TokenLayout((2, 3), 1)
    layer = HeadlessTokenAttentionConfig().build(4, layout)
    with torch.no_grad():
        layer.mixing.bias.normal_()
    output = layer(torch.randn(2, 7, 4), record=True)
    assert torch.equal(output.values, layer.mixing.bias.expand(2, 7, 4))
    assert output.patches().shape == (2, 0, 2, 3, 2, 3)


def test_only_the_bias_is_learned():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = FullyAttentionalConfig(dim=8, num_layers=2, heads_per_layer=(0, 2), image_size=(8, 12)).build()
    layer = model.stack.blocks[0].attention
    assert [name for name, parameter in layer.named_parameters() if parameter.numel()] == ["mixing.bias"]
    model(torch.randn(2, 3, 8, 12)).sum().backward()
    assert layer.mixing.bias.grad.abs().sum() > 0


@pytest.mark.parametrize("num_heads", [0, -1])
def test_a_model_is_not_made_without_heads_by_mistake(num_heads):
    config = FullyAttentionalConfig(attention=MultiheadAttentionConfig(num_heads=num_heads))
    with pytest.raises(ValueError, match=f"at least one head, got num_heads = {num_heads}; layers that pruning"):
        config.build()
    with pytest.raises(ValueError, match="a layer has 0 heads or more"):
        FullyAttentionalConfig(num_layers=2, heads_per_layer=(9, -1)).build()
