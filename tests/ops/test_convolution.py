"""Equation 5 as a sum over shifts, against PyTorch's convolution."""

import pytest
import torch
import torch.nn.functional as F

from headgrid.geometry import kernel_shifts
from headgrid.ops import convolution


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    ("kernel_size", "dilation"), [((3, 3), (1, 1)), ((1, 1), (1, 1)), ((5, 3), (1, 2)), ((3, 7), (2, 1))]
)
def test_agrees_with_conv2d_values_and_gradients(kernel_size, dilation, bias):
    torch.manual_seed(0)
    pixels = torch.randn(2, 6, 9, 3, dtype=torch.float64, requires_grad=True)
    kernel = torch.randn(4, 3, *kernel_size, dtype=torch.float64, requires_grad=True)
    offset = torch.randn(4, dtype=torch.float64, requires_grad=True) if bias else None
    weights = kernel.flatten(2).permute(2, 0, 1)
    ours = convolution(pixels, weights, kernel_shifts(kernel_size, dilation), offset)
    padding = tuple(step * (size // 2) for step, size in zip(dilation, kernel_size, strict=True))
    theirs = F.conv2d(pixels.permute(0, 3, 1, 2), kernel, offset, padding=padding, dilation=dilation)
    theirs = theirs.permute(0, 2, 3, 1)
    torch.testing.assert_close(ours, theirs)
    inputs = [part for part in (pixels, kernel, offset) if part is not None]
    direction = torch.randn_like(ours)
    torch.testing.assert_close(
        torch.autograd.grad(ours, inputs, direction), torch.autograd.grad(theirs, inputs, direction)
    )


def test_shifts_may_be_any_set_and_read_zeros_outside():
    pixels = torch.arange(6.0).view(1, 2, 3, 1)
    moved = convolution(pixels, torch.ones(2, 1, 1), torch.tensor([[0, 2], [-1, 0]]))
    assert moved.flatten().tolist() == [2.0, 0.0, 0.0, 5.0 + 0.0, 1.0, 2.0]
