"""Equation 5: a convolution as a sum over shifts. The readable twin of `torch.nn.functional.conv2d`."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headgrid.axes import Pixels


def convolution(
    pixels: Pixels,
    weights: Float[Tensor, "k c_out c"],
    shifts: Int[Tensor, "k 2"],
    bias: Float[Tensor, "c_out"] | None = None,
) -> Float[Tensor, "b h w c_out"]:
    """``out[q] = sum_k W_k X[q + shift_k] + bias``, with zeros outside of the image."""
    _, height, width, _ = pixels.shape
    reach = int(shifts.abs().max())
    padded = torch.nn.functional.pad(pixels, (0, 0, reach, reach, reach, reach))
    output = pixels.new_zeros(*pixels.shape[:3], weights.shape[1])
    for weight, (row, column) in zip(weights, shifts.tolist(), strict=True):
        window = padded[:, reach + row : reach + row + height, reach + column : reach + column + width]
        output = output + window @ weight.T
    return output if bias is None else output + bias
