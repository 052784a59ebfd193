import random
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from vector_attention_loops import patchwise_loop

from footprint_loops import random_footprint
from headgrid.attention import (
    AllDifferent,
    AllShared,
    CliqueProduct,
    ConstantGamma,
    GammaConfig,
    PatchConcatenation,
    PatchwiseAttentionConfig,
    RandomGamma,
    SharedPhiPsi,
    StarProduct,
)
from headgrid.ops import Footprint, ZeroPadding

SMALL = PatchwiseAttentionConfig(Footprint(3), sharing=2)

CASES = {
    f"{type(relation).__name__}-{type(transformations).__name__}": replace(
        SMALL, relation=relation, transformations=transformations
    )
    for relation in (StarProduct(), CliqueProduct(), PatchConcatenation())
    for transformations in (SMALL.transformations, SharedPhiPsi(), AllShared())
} | {
    "strided": replace(SMALL, footprint=Footprint(3, stride=2)),
    "strided-star": replace(SMALL, footprint=Footprint(3, stride=2), relation=StarProduct()),
    "strided-clique": replace(SMALL, footprint=Footprint(3, stride=2), relation=CliqueProduct()),
    "strided-dilated": replace(SMALL, footprint=Footprint(5, stride=2, dilation=2)),
    "zeros": replace(SMALL, footprint=Footprint(3, padding=ZeroPadding())),
    "zeros-strided-clique": replace(
        SMALL, footprint=Footprint(3, 2, 2, padding=ZeroPadding()), relation=CliqueProduct()
    ),
    "wider-than-the-map": replace(SMALL, footprint=Footprint(7)),
    "one-layer": replace(SMALL, gamma=GammaConfig(1)),
    "three-layers": replace(SMALL, gamma=GammaConfig(3, hidden_dim=5)),
    "no-bias": replace(SMALL, bias=False),
}


def _layer(config, training=True):
    torch.manual_seed(0)
    layer = config.build(5, 3, 6).double().train(training)
    with torch.no_grad():
        for name, tensor in [*layer.named_parameters(), *layer.named_buffers()]:
            if "norm" in name and tensor.is_floating_point():
                tensor.copy_(torch.rand_like(tensor) + 0.5)
    return layer


def _gradients(layer, output, pixels):
    seen = torch.randn(output.shape, generator=torch.Generator().manual_seed(1), dtype=output.dtype)
    parameters = [parameter for name, parameter in layer.named_parameters()]
    return torch.autograd.grad((output * seen).sum(), [pixels, *parameters])


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("config", CASES.values(), ids=CASES.keys())
def test_agrees_with_scalar_loops(config, training):
    layer = _layer(config, training)
    pixels = torch.randn(2, 3, 4, 5, dtype=torch.float64, requires_grad=True)
    output, weights = patchwise_loop(layer, pixels)
    gradients = _gradients(layer, output, pixels)
    for record in (False, True):
        layer = _layer(config, training)
        attended = layer(pixels, record=record)
        torch.testing.assert_close(attended.values, output)
        torch.testing.assert_close(_gradients(layer, attended.values, pixels), gradients)
        if record:
            torch.testing.assert_close(attended.weights, weights)


@pytest.mark.parametrize("seed", range(16))
def test_random_layers_agree_with_scalar_loops(seed):
    """Relation, transformations, footprint, stride, dilation, padding and map, all drawn."""
    chance = random.Random(seed)
    footprint, grid = random_footprint(seed)
    relation = chance.choice((StarProduct(), CliqueProduct(), PatchConcatenation()))
    if isinstance(relation, CliqueProduct):  # K^4 products for each pixel, one at a time
        footprint = replace(footprint, size=min(footprint.size, 3))
    config = PatchwiseAttentionConfig(
        footprint,
        chance.choice((AllDifferent(), SharedPhiPsi(), AllShared())),
        GammaConfig(chance.choice((1, 2, 2, 3)), hidden_dim=chance.choice((None, 4))),
        sharing=chance.choice((1, 2, 3, 6)),
        relation=relation,
    )
    training = chance.random() < 0.5
    pixels = torch.randn(2, min(grid[0], 4), min(grid[1], 5), 5, dtype=torch.float64, requires_grad=True)
    layer = _layer(config, training)
    output, weights = patchwise_loop(layer, pixels)
    gradients = _gradients(layer, output, pixels)
    for record in (False, True):
        layer = _layer(config, training)
        attended = layer(pixels, record=record)
        torch.testing.assert_close(attended.values, output)
        torch.testing.assert_close(_gradients(layer, attended.values, pixels), gradients)
        if record:
            torch.testing.assert_close(attended.weights, weights)


@pytest.mark.parametrize("config", CASES.values(), ids=CASES.keys())
def test_both_paths_track_the_same_statistics(config):
    pixels = torch.randn(2, 3, 4, 5, dtype=torch.float64)
    layers = []
    for record in (False, True):
        layer = _layer(config)
        layer(pixels, record=record)
        layer(2 * pixels, record=record)
        layers.append(layer)
    torch.testing.assert_close(layers[0].state_dict(), layers[1].state_dict())


@pytest.mark.parametrize("record", [False, True])
def test_a_kept_key_replaces_the_own(record):
    layer, pixels = _layer(SMALL), torch.randn(2, 3, 4, 5).double()
    kept = layer(pixels).key.detach().requires_grad_()
    other = _layer(SMALL)(pixels.flip(1), kept, record=record)
    torch.testing.assert_close(other.values, patchwise_loop(_layer(SMALL), pixels.flip(1), kept)[0])
    (gradient,) = torch.autograd.grad(other.values.square().sum(), kept)
    assert gradient.abs().min() > 0


@pytest.mark.parametrize("num_layers", [1, 2, 3])
@pytest.mark.parametrize("relation", [StarProduct(), CliqueProduct(), PatchConcatenation()])
def test_a_constant_gamma_begins_as_a_convolution_with_one_filter_for_each_group(relation, num_layers):
    layers = []
    for start in (RandomGamma(), ConstantGamma()):
        torch.manual_seed(0)
        layers.append(replace(SMALL, relation=relation, gamma=GammaConfig(num_layers, start=start)).build(5, 3, 6))
    usual, constant = layers
    last = f"gamma.layers.{num_layers - 1}.linear.weight"
    for name, value in usual.state_dict().items():
        expected = torch.zeros_like(value) if name == last else value
        assert torch.equal(constant.state_dict()[name], expected), name

    pixels = torch.randn(2, 6, 7, 5)
    attended = constant(pixels, record=True)
    bias = constant.gamma.layers[-1].linear.bias.unflatten(0, (9, 3))  # position of the footprint, group
    torch.testing.assert_close(attended.weights, bias.T[None, :, None, None].expand(2, 3, 6, 7, 9))
    filters = bias.T.repeat(2, 1).view(6, 1, 3, 3)  # channel c belongs to group c mod 3
    values = F.pad(constant.beta(pixels).movedim(-1, 1), (1, 1, 1, 1), mode="reflect")
    torch.testing.assert_close(attended.values, F.conv2d(values, filters, groups=6).movedim(1, -1))

    constant(pixels).values.square().sum().backward()
    gradient = constant.get_parameter(last).grad
    assert gradient is not None
    assert gradient.abs().max() > 0


def test_autocast():
    layer = _layer(SMALL).float()
    pixels = torch.randn(2, 6, 7, 5)
    expected = layer(pixels).values
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = layer(pixels).values
        half.float().square().sum().backward()
    torch.testing.assert_close(half.float(), expected, rtol=5e-2, atol=5e-2)
    assert all(parameter.grad is not None for parameter in layer.parameters())


@pytest.mark.parametrize("record", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype, record):
    layer, pixels = _layer(SMALL), torch.randn(2, 6, 7, 5)
    expected = layer.float()(pixels).values
    half = _layer(SMALL).to(dtype)(pixels.to(dtype), record=record).values
    assert half.dtype == dtype
    torch.testing.assert_close(half.float(), expected, rtol=5e-2, atol=5e-2)
