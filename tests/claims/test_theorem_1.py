"""Theorem 1: attention with K_h K_w heads expresses any convolution, to the precision of the number format."""

import pytest
import torch
from torch import nn

from headgrid.ops import convolution
from headgrid.theory import measured_deviation, shifts_of_heads, theorem_1
from headgrid.theory.theorem_1 import planar_kernel

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 2e-3}
CONVOLUTIONS = {
    "3 x 3": lambda: nn.Conv2d(6, 4, 3),
    "5 x 3": lambda: nn.Conv2d(6, 4, (5, 3)),
    "even": lambda: nn.Conv2d(6, 4, (2, 4), dilation=(3, 1)),
    "1 x 1": lambda: nn.Conv2d(6, 4, 1),
    "grouped": lambda: nn.Conv2d(6, 9, 3, groups=3, bias=False),
    "sequence": lambda: nn.Conv1d(6, 4, 5, dilation=2),
}


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("kind", CONVOLUTIONS)
def test_agrees_away_from_borders(kind, dtype):
    torch.manual_seed(0)
    conv = CONVOLUTIONS[kind]().to(dtype)
    pixels = torch.randn(2, 1 if kind == "sequence" else 11, 13, 6).to(dtype)
    layer = theorem_1(conv)
    assert layer.num_heads == planar_kernel(conv)[0, 0].numel()
    assert measured_deviation(layer, conv, pixels).relative <= TOLERANCE[dtype]


@pytest.mark.parametrize("head_dim", [4, 6, 9])
@pytest.mark.parametrize("kind", CONVOLUTIONS)
def test_heads_at_least_as_wide_as_the_output(kind, head_dim):
    torch.manual_seed(0)
    conv = CONVOLUTIONS[kind]().double()
    head_dim = max(head_dim, conv.out_channels)
    layer = theorem_1(conv, head_dim=head_dim)
    pixels = torch.randn(2, 1 if kind == "sequence" else 11, 13, 6, dtype=torch.float64)
    assert layer.head_dim == head_dim
    assert layer.value is not None
    assert measured_deviation(layer, conv, pixels).relative <= 1e-12


def test_agrees_with_equation_5_written_out():
    torch.manual_seed(0)
    conv = nn.Conv2d(3, 5, (3, 2)).double()
    layer = theorem_1(conv)
    pixels = torch.randn(2, 7, 9, 3, dtype=torch.float64)
    shifts = shifts_of_heads(layer.weights(7, 9))
    expected = convolution(pixels, conv.weight.flatten(2).permute(2, 0, 1), shifts, conv.bias)
    torch.testing.assert_close(layer(pixels).values[:, 1:-1, :-1], expected[:, 1:-1, :-1], rtol=0, atol=1e-13)


@pytest.mark.parametrize("sharpness", [0.5, 1.0, 3.0, 8.0, 15.0])
def test_the_bound_holds_at_every_sharpness(sharpness):
    """And shrinks like the deviation: neither ever exceeds the other by much more than a factor of 100."""
    torch.manual_seed(0)
    conv = nn.Conv2d(5, 4, 3).double()
    deviation = measured_deviation(theorem_1(conv, sharpness=sharpness), conv, torch.randn(2, 9, 9, 5).double())
    assert 0 < deviation.largest <= deviation.bound <= 200 * deviation.largest


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_heads": 8}, r"N_h = K_h \* K_w heads: a 3 x 3 kernel takes 9, got 8"),
        ({"encoding_size": 2}, "D_p >= 3 numbers"),
        ({"head_dim": 3}, "D_h = 3 express"),
        ({"sharpness": -1.0}, "must be positive and finite, got -1.0"),
    ],
)
def test_hypotheses_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        theorem_1(nn.Conv2d(6, 4, 3), **options)


def test_hypotheses_that_hold_are_accepted():
    theorem_1(nn.Conv2d(6, 4, 3), num_heads=9, head_dim=4, encoding_size=3)
    theorem_1(nn.Conv1d(6, 4, 3), num_heads=3, head_dim=4, encoding_size=2)


def test_a_map_smaller_than_the_kernel_has_no_interior():
    conv = nn.Conv2d(2, 2, 3, dilation=2)
    with pytest.raises(ValueError, match="5 x 5 pixels: a map of 4 x 9 has no pixel away from its borders"):
        measured_deviation(theorem_1(conv), conv, torch.randn(1, 4, 9, 2))


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_maps_are_zero_and_one(dtype):
    """Equation 10 to the last bit, in every number format."""
    weights = theorem_1(nn.Conv2d(2, 2, (3, 2)).to(dtype)).weights(20, 40)[:, 1:-1, :-1]
    assert torch.equal(weights, (weights == weights.amax(dim=(-2, -1), keepdim=True)).to(weights.dtype))


def test_leaves_random_numbers_alone():
    conv = nn.Conv2d(2, 2, 3)
    state = torch.get_rng_state()
    theorem_1(conv)
    assert torch.equal(state, torch.get_rng_state())
