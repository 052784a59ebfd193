"""Lemma 1: heads that attend one shift each are a convolution, with any bijection of heads onto shifts."""

import pytest
import torch

from headgrid.geometry import kernel_shifts
from headgrid.ops import apply_attention, convolution
from headgrid.theory import lemma_1, shifts_of_heads
from headgrid.theory.lemma_1 import deviation_from_shifts


def _one_hot_maps(shifts, height, width):
    """Equation 10, written out; a query whose shifted pixel does not exist attends nothing."""
    weights = torch.zeros(len(shifts), height, width, height, width, dtype=torch.float64)
    for head, (down, right) in enumerate(shifts.tolist()):
        for h in range(height):
            for w in range(width):
                if 0 <= h + down < height and 0 <= w + right < width:
                    weights[head, h, w, h + down, w + right] = 1
    return weights


@pytest.mark.parametrize("head_dim", [None, 7])
@pytest.mark.parametrize(("kernel_size", "dilation"), [((3, 3), (1, 1)), ((2, 3), (2, 1)), ((1, 4), (1, 1))])
def test_heads_that_attend_shifts_are_a_convolution(kernel_size, dilation, head_dim):
    torch.manual_seed(0)
    shifts = kernel_shifts(kernel_size, dilation)
    order = torch.randperm(len(shifts))
    kernel = torch.randn(5, 4, *kernel_size, dtype=torch.float64)
    matrices = lemma_1(kernel, shifts[order], head_dim, dilation)
    assert matrices.value.shape == (len(shifts), 4, head_dim or 5)

    pixels = torch.randn(2, 6, 8, 4, dtype=torch.float64)
    weights = _one_hot_maps(shifts[order], 6, 8)
    attended = apply_attention(weights.expand(2, -1, -1, -1, -1, -1), pixels)
    output = torch.einsum("bhwnc,ncd,ndo->bhwo", attended, matrices.value, matrices.output)
    expected = convolution(pixels, kernel.flatten(2).permute(2, 0, 1), shifts)
    torch.testing.assert_close(output, expected, rtol=0, atol=1e-13)


def test_reads_the_bijection_off_the_maps():
    shifts = kernel_shifts((3, 3))[torch.randperm(9)]
    weights = _one_hot_maps(shifts, 5, 6)
    assert torch.equal(shifts_of_heads(weights), shifts)
    assert deviation_from_shifts(weights, shifts) == 0
    assert deviation_from_shifts(weights, shifts.roll(1, 0)) == 1


def test_a_blurred_head_does_not_fulfil_the_hypothesis():
    weights = 0.7 * _one_hot_maps(kernel_shifts((1, 2)), 5, 6)
    weights[1] = 0.95 * weights[1] / 0.7
    weights += (1 - weights.sum(dim=(-2, -1), keepdim=True)) / 30
    with pytest.raises(ValueError, match=r"head 0 does not attend one shift.*at the shift \(0, 0\) by up to 0.29"):
        shifts_of_heads(weights, tolerance=0.1)
    with pytest.raises(ValueError, match="head 1"):
        shifts_of_heads(torch.cat([_one_hot_maps(torch.tensor([[0, 0]]), 5, 6), weights[1:]]), tolerance=0.01)


@pytest.mark.parametrize(
    ("shifts", "head_dim", "message"),
    [
        (kernel_shifts((3, 3))[:8], None, "3 x 3 takes 9 heads, got 8"),
        (
            kernel_shifts((3, 3)),
            3,
            r"D_h = 3 express min\(D_h, D_out\) = 3 output channels and the convolution has 5",
        ),
        (kernel_shifts((3, 3), (2, 2)), None, r"head 0 attends the shift \(-2, -2\), which a 3 x 3 kernel"),
        (kernel_shifts((3, 3))[[0, 0, 2, 3, 4, 5, 6, 7, 8]], None, "two heads attend the same shift"),
    ],
)
def test_hypotheses_are_checked(shifts, head_dim, message):
    with pytest.raises(ValueError, match=message):
        lemma_1(torch.randn(5, 4, 3, 3), shifts, head_dim)
