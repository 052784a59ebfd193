"""Which shift each element of a convolution kernel reads: the bijection of heads and shifts in Lemma 1."""

import torch
from jaxtyping import Int
from torch import Tensor


def kernel_shifts(
    kernel_size: tuple[int, int], dilation: tuple[int, int] = (1, 1), device: torch.device | None = None
) -> Int[Tensor, "k 2"]:
    """The shift (rows, columns) that each kernel element reads, in the kernel's own row-major order.

    Element (i, j) of a K_h x K_w kernel reads the pixel at ``(i - (K_h - 1) // 2, j - (K_w - 1) // 2)``,
    times the dilation: centred for odd kernels, and one pixel further down and right for even ones.
    Head h of a converted layer attends the h-th of these shifts.
    """
    rows, columns = (
        dilation[axis] * (torch.arange(size, device=device) - (size - 1) // 2)
        for axis, size in enumerate(kernel_size)
    )
    return torch.cartesian_prod(rows, columns)
