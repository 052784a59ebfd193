"""Sums over thousands of images are kept in float64, wherever the maps were made."""

import torch
from jaxtyping import Float
from torch import Tensor


def in_float64(array: Float[Tensor, "*axes"]) -> Float[Tensor, "*axes"]:
    """The array in float64; from Apple's GPUs, which have none, on the CPU."""
    return (array.cpu() if array.device.type == "mps" else array).to(torch.float64)
