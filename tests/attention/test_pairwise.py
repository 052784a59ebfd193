import random
from dataclasses import replace

import pytest
import torch
from vector_attention_loops import pairwise_loop

from footprint_loops import random_footprint
from headgrid.attention import (
    AbsolutePosition,
    AllDifferent,
    AllShared,
    Concatenation,
    ConstantGamma,
    DotProduct,
    GammaConfig,
    HadamardProduct,
    NoPosition,
    PairwiseAttentionConfig,
    RelativePosition,
    SharedPhiPsi,
    Subtraction,
    Summation,
)
from headgrid.ops import Footprint, ZeroPadding

RELATIONS = [Summation(), Subtraction(), Concatenation(), HadamardProduct(), DotProduct()]
POSITIONS = [NoPosition(), AbsolutePosition(), RelativePosition()]
TRANSFORMATIONS = [AllDifferent(), SharedPhiPsi(), AllShared()]
SMALL = PairwiseAttentionConfig(Footprint(3), sharing=2)

CASES = {
    f"{type(relation).__name__}-{type(position).__name__}": replace(SMALL, relation=relation, position=position)
    for relation in RELATIONS
    for position in POSITIONS
} | {
    "shared-phi-psi": replace(SMALL, transformations=SharedPhiPsi()),
    "all-shared": replace(SMALL, transformations=AllShared()),
    "all-shared-hadamard": replace(SMALL, transformations=AllShared(), relation=HadamardProduct()),
    "strided": replace(SMALL, footprint=Footprint(3, stride=2)),
    "dilated": replace(SMALL, footprint=Footprint(3, dilation=2)),
    "strided-dilated": replace(SMALL, footprint=Footprint(5, stride=2, dilation=2)),
    "zeros": replace(SMALL, footprint=Footprint(3, padding=ZeroPadding())),
    "zeros-strided-concatenation": replace(
        SMALL, footprint=Footprint(3, 2, 2, padding=ZeroPadding()), relation=Concatenation()
    ),
    "zeros-absolute": replace(SMALL, footprint=Footprint(5, padding=ZeroPadding()), position=AbsolutePosition()),
    "wider-than-the-map": replace(SMALL, footprint=Footprint(7)),
    "one-layer": replace(SMALL, gamma=GammaConfig(1)),
    "three-layers": replace(SMALL, gamma=GammaConfig(3, hidden_dim=5)),
    "no-bias": replace(SMALL, bias=False),
}


def _layer(config, dim=5, relation_dim=3, value_dim=6, training=True):
    torch.manual_seed(0)
    layer = config.build(dim, relation_dim, value_dim).double().train(training)
    with torch.no_grad():
        for name, tensor in [*layer.named_parameters(), *layer.named_buffers()]:
            # As after some training. With biases at zero, ReLUs would stand on their kink where p_i - p_j = 0.
            if "norm" in name and tensor.is_floating_point():
                tensor.copy_(torch.rand_like(tensor) + 0.5)
    return layer


def _gradients(layer, output, pixels):
    seen = torch.randn(output.shape, generator=torch.Generator().manual_seed(1), dtype=output.dtype)
    return torch.autograd.grad((output * seen).sum(), [pixels, *layer.parameters()])


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("config", CASES.values(), ids=CASES.keys())
def test_agrees_with_scalar_loops(config, training):
    layer = _layer(config, training=training)
    pixels = torch.randn(2, 3, 4, 5, dtype=torch.float64, requires_grad=True)
    output, weights = pairwise_loop(layer, pixels)
    gradients = _gradients(layer, output, pixels)
    for record in (False, True):
        # Another copy, for in training every pass moves the running statistics.
        layer = _layer(config, training=training)
        attended = layer(pixels, record=record)
        torch.testing.assert_close(attended.values, output)
        torch.testing.assert_close(_gradients(layer, attended.values, pixels), gradients)
        if record:
            torch.testing.assert_close(attended.weights, weights)


@pytest.mark.parametrize("seed", range(16))
def test_random_layers_agree_with_scalar_loops(seed):
    """Relation, position, transformations, footprint, stride, dilation, padding and map, all drawn."""
    chance = random.Random(seed)
    footprint, grid = random_footprint(seed)
    config = PairwiseAttentionConfig(
        footprint,
        chance.choice(TRANSFORMATIONS),
        GammaConfig(chance.choice((1, 2, 2, 3)), hidden_dim=chance.choice((None, 4))),
        sharing=chance.choice((1, 2, 3, 6)),
        relation=chance.choice(RELATIONS),
        position=chance.choice(POSITIONS),
    )
    training = chance.random() < 0.5
    pixels = torch.randn(2, min(grid[0], 4), min(grid[1], 5), 5, dtype=torch.float64, requires_grad=True)
    layer = _layer(config, training=training)
    output, weights = pairwise_loop(layer, pixels)
    gradients = _gradients(layer, output, pixels)
    for record in (False, True):
        layer = _layer(config, training=training)
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


def test_the_weights_of_a_footprint_sum_to_one():
    attended = _layer(SMALL)(torch.randn(2, 3, 4, 5).double(), record=True)
    torch.testing.assert_close(attended.weights.sum(-1), torch.ones(2, 3, 3, 4, dtype=torch.float64))
    dense = attended.dense()
    assert dense.shape == (2, 3, 3, 4, 3, 4)
    torch.testing.assert_close(dense.sum((-2, -1)), torch.ones(2, 3, 3, 4, dtype=torch.float64))


def test_weights_that_were_not_recorded_are_not_made_up():
    attended = _layer(SMALL)(torch.randn(2, 3, 4, 5).double())
    assert attended.weights is None
    with pytest.raises(ValueError, match="record=True"):
        attended.dense()


@pytest.mark.parametrize("record", [False, True])
def test_a_kept_key_replaces_the_own(record):
    layer, pixels = _layer(SMALL), torch.randn(2, 3, 4, 5).double()
    first = layer(pixels, record=record)
    kept = first.key.detach().requires_grad_()
    torch.testing.assert_close(layer(pixels, kept, record=record).values, first.values)
    other = layer(pixels.flip(1), kept, record=record)
    assert other.key is kept
    torch.testing.assert_close(other.values, pairwise_loop(_layer(SMALL), pixels.flip(1), kept)[0])
    (gradient,) = torch.autograd.grad(other.values.square().sum(), kept)
    assert gradient.abs().min() > 0


def test_without_a_key_of_its_own():
    layer = SMALL.build(5, 3, 6, own_key=False)
    assert "psi.weight" not in dict(layer.named_parameters())
    with pytest.raises(ValueError, match="without a key of its own"):
        layer(torch.randn(2, 3, 4, 5))
    assert layer(torch.randn(2, 3, 4, 5), torch.randn(2, 3, 4, 3)).values.shape == (2, 3, 4, 6)


def test_pairwise_attention_without_positions_is_a_set_operator():
    """A transposed footprint has the same keys in another order, and gives the transposed map."""
    layer = _layer(replace(SMALL, position=NoPosition()))
    pixels = torch.randn(2, 4, 5, 5).double()
    torch.testing.assert_close(layer(pixels.transpose(1, 2)).values, layer(pixels).values.transpose(1, 2))


def test_a_constant_gamma_begins_as_a_mean():
    layer = replace(SMALL, gamma=GammaConfig(start=ConstantGamma())).build(5, 3, 6)
    attended = layer(torch.randn(2, 3, 4, 5), record=True)
    torch.testing.assert_close(attended.weights, torch.full((2, 3, 3, 4, 9), 1 / 9))


def test_autocast():
    layer = _layer(SMALL, relation_dim=4, value_dim=8).float()
    pixels = torch.randn(2, 6, 7, 5)
    expected = layer(pixels).values
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = layer(pixels).values
        half.float().square().sum().backward()
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), expected, rtol=5e-2, atol=5e-2)
    assert all(parameter.grad is not None for parameter in layer.parameters())


def test_channels_that_cannot_share_are_refused():
    with pytest.raises(ValueError, match="6 channels of beta cannot be shared out evenly: sharing = 4"):
        replace(SMALL, sharing=4).build(5, 3, 6)


def test_a_gamma_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="at least one linear layer"):
        GammaConfig(0)
    with pytest.raises(ValueError, match="hidden width"):
        GammaConfig(2, 0)
    with pytest.raises(ValueError, match="width_factor of gamma must be positive"):
        GammaConfig(width_factor=0.0)
    with pytest.raises(ValueError, match="hidden_dim or width_factor, not both"):
        GammaConfig(hidden_dim=3, width_factor=2.0)


@pytest.mark.parametrize(("factor", "width"), [(0.1, 1), (0.5, 2), (1.0, 3), (2.0, 6), (4.0, 12)])
def test_the_hidden_width_of_gamma_follows_the_relation(factor: float, width: int):
    gamma = _layer(replace(SMALL, gamma=GammaConfig(3, width_factor=factor))).gamma
    assert [layer.linear.out_features for layer in gamma.layers] == [width, width, 3]


def test_a_single_pixel_cannot_train_a_batch_norm():
    layer = replace(SMALL, footprint=Footprint(1)).build(5, 3, 6)
    with pytest.raises(ValueError, match="single value per channel"):
        layer(torch.randn(1, 1, 1, 5))


@pytest.mark.parametrize("record", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype, record):
    layer, pixels = _layer(SMALL), torch.randn(2, 6, 7, 5)
    expected = layer.float()(pixels).values
    half = _layer(SMALL).to(dtype)(pixels.to(dtype), record=record).values
    assert half.dtype == dtype
    torch.testing.assert_close(half.float(), expected, rtol=5e-2, atol=5e-2)
