"""Every kind of score under bfloat16 autocast and in a model of bfloat16: it trains, and stays close."""

import copy

import pytest
import torch
from kinds import SCORES, VALUES, random_layer, random_pixels

from headgrid.attention import DropoutPerImage

TOLERANCE = 0.04  # bfloat16 keeps eight bits; three matrix products follow each other


def _small(scores, values, probability):
    """A layer in float32 with parameters of ordinary size, and its pixels."""
    layer = random_layer(scores, values, dropout=DropoutPerImage(probability)).float()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.mul_(0.5)
    return layer, random_pixels().detach().float()


@pytest.mark.parametrize("record", [False, True], ids=["fast", "explicit"])
@pytest.mark.parametrize("values", ["merged", "projected"])
@pytest.mark.parametrize("scores", SCORES)
def test_autocast_stays_close_values_and_gradients(scores, values, record):
    layer, pixels = _small(scores, values, 0.0)
    pixels.requires_grad_()
    inputs = {"pixels": pixels, **dict(layer.named_parameters())}
    expected = layer(pixels).values
    direction = torch.randn_like(expected)
    gradients = torch.autograd.grad(expected, list(inputs.values()), direction)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = layer(pixels, record=record)
    close = torch.autograd.grad(output.values, list(inputs.values()), direction.to(output.values.dtype))
    assert (output.values - expected).abs().max() < TOLERANCE * expected.abs().max()
    for name, rounded, exact in zip(inputs, close, gradients, strict=True):
        assert rounded.dtype == torch.float32, name
        # Biases that the softmax does not see have a gradient of zero, or rounding on the scale of the others.
        unseen = name.endswith(("key.bias", "row_vectors.bias", "column_vectors.bias"))
        scale = gradients[0] if unseen else exact
        assert (rounded - exact).norm() < 2 * TOLERANCE * scale.norm(), name
    if record:
        torch.testing.assert_close(output.weights.float().sum((-2, -1)), torch.ones(2, 2, 3, 5))


@pytest.mark.parametrize("scores", SCORES)
def test_trains_under_autocast_with_dropout(scores):
    layer, pixels = _small(scores, "merged", 0.1)
    layer.train()
    before = copy.deepcopy(layer.state_dict())
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = layer(pixels).values.float().square().mean()
    loss.backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in layer.parameters())
    optimizer.step()
    assert any(not torch.equal(before[name], value) for name, value in layer.state_dict().items())


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("scores", SCORES)
def test_a_layer_of_bfloat16_agrees_on_both_paths(scores, values):
    layer, pixels = _small(scores, values, 0.0)
    expected = layer(pixels).values
    layer, pixels = layer.bfloat16(), pixels.bfloat16()
    for record in (False, True):
        output = layer(pixels, record=record).values
        assert output.dtype == torch.bfloat16
        assert (output.float() - expected).abs().max() < TOLERANCE * expected.abs().max()
