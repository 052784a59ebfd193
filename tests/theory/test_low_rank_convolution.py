"""Heads narrower than the output: the discarded singular values predict the error."""

import pytest
import torch
from torch import nn

from headgrid.theory import low_rank_convolution

KINDS = {
    "plain": lambda: nn.Conv2d(8, 12, 3, padding=1),
    "grouped": lambda: nn.Conv2d(8, 12, (3, 2), groups=2, padding=2),
    "sequence": lambda: nn.Conv1d(8, 12, 5, padding=2),
}


def _convolution(kind):
    torch.manual_seed(0)
    return KINDS[kind]().double()


def _kernel(module, conv):
    """The kernel that the attention applies, read off impulses."""
    matrices = torch.einsum(
        "ndi,ond->oni",
        module.attention.value.weight.unflatten(0, (module.attention.num_heads, -1)),
        module.attention.mixing.weight.unflatten(1, (module.attention.num_heads, -1)),
    )
    return matrices.detach()


@pytest.mark.parametrize("head_dim", [1, 3, 6])
@pytest.mark.parametrize("kind", KINDS)
def test_the_predicted_error_is_the_measured_one(kind, head_dim):
    conv = _convolution(kind)
    found = low_rank_convolution(conv, head_dim)
    assert found.module.attention.head_dim == head_dim

    dense = torch.zeros(12, 8, *conv.kernel_size, dtype=torch.float64)
    inputs, outputs = 8 // conv.groups, 12 // conv.groups
    for group in range(conv.groups):
        rows, columns = slice(group * outputs, (group + 1) * outputs), slice(group * inputs, (group + 1) * inputs)
        dense[rows, columns] = conv.weight.detach()[rows]
    difference = _kernel(found.module, conv) - dense.flatten(2).transpose(1, 2)
    assert float(torch.linalg.vector_norm(difference)) == pytest.approx(found.kernel_error)
    assert found.relative_kernel_error == pytest.approx(found.kernel_error / float(conv.weight.detach().norm()))

    # White input, away from borders: the mean over pixels estimates the expectation.
    size = (300,) if kind == "sequence" else (60, 60)
    images = torch.randn(100 if kind == "sequence" else 8, 8, *size, dtype=torch.float64)
    with torch.no_grad():
        error = (found.module(images) - conv(images))[(...,) + (slice(5, -5),) * len(size)]
    assert float(error.square().sum(dim=1).mean()) == pytest.approx(found.white_noise_error, rel=0.03)
    largest_input = float(images.norm(dim=1).max())
    assert float(error.norm(dim=1).max()) <= found.largest_error_per_norm * largest_input


def test_no_other_factors_of_this_width_are_better():
    """Alternating least squares from random factors ends at the same error and never below it."""
    conv = _convolution("plain")
    found = low_rank_convolution(conv, 2)
    target = conv.weight.detach().flatten(2).permute(2, 1, 0)
    value = torch.randn(9, 8, 2, dtype=torch.float64)
    for _ in range(300):
        output = torch.linalg.lstsq(value, target).solution
        value = torch.linalg.lstsq(output.mT, target.mT).solution.mT
    loss = float((value @ output - target).square().sum())
    assert (1 - 1e-9) * found.white_noise_error <= loss <= 1.01 * found.white_noise_error


@pytest.mark.parametrize("head_dim", [8, 12, 20])
@pytest.mark.parametrize("kind", KINDS)
def test_wide_heads_are_exact(kind, head_dim):
    conv = _convolution(kind)
    found = low_rank_convolution(conv, head_dim)
    assert found.module.attention.head_dim == head_dim
    assert found.white_noise_error == 0
    images = torch.randn(2, 8, 9, dtype=torch.float64) if kind == "sequence" else torch.randn(2, 8, 9, 7).double()
    torch.testing.assert_close(found.module(images), conv(images))


def test_only_as_many_filters_as_the_head_is_wide():
    """The remark after Lemma 1: D_h = 3 of 12 output channels can be kept exactly, the others are lost."""
    conv = _convolution("plain")
    with torch.no_grad():
        conv.weight[3:] = 0
        conv.bias[3:] = 0
    found = low_rank_convolution(conv, 3)
    assert found.kernel_error < 1e-12
    assert low_rank_convolution(conv, 2).kernel_error > 0.1


def test_what_cannot_be_done_is_said():
    with pytest.raises(ValueError, match="at least one channel, got head_dim = 0"):
        low_rank_convolution(nn.Conv2d(2, 2, 3), 0)
    with pytest.raises(ValueError, match="transposed"):
        low_rank_convolution(nn.ConvTranspose2d(2, 2, 3), 1)
