"""Lemma 1: heads that attend one shift each, together all shifts of a kernel, are a convolution.

If ``softmax(A^h_q)_k`` is one for ``k - q = f(h)`` and zero otherwise, then
``MHSA(X)_q = sum_h X_{q + f(h)} W^(h) + b_out`` (equation 13), and the convolution with the kernel elements
``W_f(h)`` is the same sum. (The lemma writes ``q - k``; here a shift is always key - query.)
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headgrid.axes import SharedWeights
from headgrid.geometry import kernel_shifts


@dataclass(frozen=True)
class HeadMatrices:
    """``W^(h) = W_val^(h) W_out^(h)`` for each head (equation 11)."""

    value: Float[Tensor, "n c d"]
    output: Float[Tensor, "n d c_out"]

    @property
    def product(self) -> Float[Tensor, "n c c_out"]:
        return self.value @ self.output


def lemma_1(
    kernel: Float[Tensor, "c_out c rows columns"],
    shifts: Int[Tensor, "n 2"],
    head_dim: int | None = None,
    dilation: tuple[int, int] = (1, 1),
) -> HeadMatrices:
    """The matrices with which heads at ``shifts`` (the bijection f) express the convolution with ``kernel``.

    ``head_dim`` is D_h, by default as many as the kernel has output channels.
    """
    output_dim, _, *kernel_size = kernel.shape
    head_dim = output_dim if head_dim is None else head_dim
    rows, columns = kernel_size
    if len(shifts) != rows * columns:
        raise ValueError(
            f"Lemma 1 needs a head for each element of the kernel: {rows} x {columns} takes {rows * columns} "
            f"heads, got {len(shifts)}"
        )
    if head_dim < output_dim:
        raise ValueError(
            f"heads of width D_h = {head_dim} express min(D_h, D_out) = {head_dim} output channels and the "
            f"convolution has {output_dim}: use D_h >= {output_dim}, or low_rank_convolution for the best "
            f"approximation"
        )
    elements = element_of_shift(shifts, (rows, columns), dilation)
    matrices = kernel.flatten(2).permute(2, 1, 0)[elements]
    eye = torch.eye(head_dim, output_dim, dtype=kernel.dtype, device=kernel.device)
    return HeadMatrices(matrices @ eye.T, eye.expand(len(shifts), -1, -1))


def element_of_shift(
    shifts: Int[Tensor, "n 2"], kernel_size: tuple[int, int], dilation: tuple[int, int] = (1, 1)
) -> Int[Tensor, "n"]:
    """For each head the element of a kernel, counted row by row, that reads its shift; f must be a bijection."""
    known = {tuple(shift): element for element, shift in enumerate(kernel_shifts(kernel_size, dilation).tolist())}
    elements = []
    for head, shift in enumerate(shifts.tolist()):
        if tuple(shift) not in known:
            rows, columns = kernel_size
            raise ValueError(
                f"head {head} attends the shift {tuple(shift)}, which a {rows} x {columns} kernel with dilation "
                f"{dilation} does not read"
            )
        elements.append(known[tuple(shift)])
    if len(set(elements)) < len(elements):
        raise ValueError("two heads attend the same shift: Lemma 1 needs a bijection of heads onto shifts")
    return torch.tensor(elements, dtype=torch.long, device=shifts.device)


def shifts_of_heads(weights: SharedWeights, tolerance: float = 1e-6) -> Int[Tensor, "n 2"]:
    """f(h), read off the attention maps; an error if a head does not fulfil equation 10 to ``tolerance``."""
    height, width = weights.shape[1:3]
    middle = weights[:, height // 2, width // 2]
    brightest = middle.flatten(1).argmax(dim=1)
    shifts = torch.stack([brightest // width - height // 2, brightest % width - width // 2], dim=1)
    for head in range(len(weights)):
        deviation = deviation_from_shifts(weights[head : head + 1], shifts[head : head + 1])
        if deviation > tolerance:
            raise ValueError(
                f"head {head} does not attend one shift: its weights differ from equation 10 at the shift "
                f"{tuple(shifts[head].tolist())} by up to {deviation:.3g}, more than {tolerance:.3g}"
            )
    return shifts


def deviation_from_shifts(weights: SharedWeights, shifts: Int[Tensor, "n 2"]) -> float:
    """The largest difference between attention maps and equation 10, at queries whose shifted pixel exists."""
    height, width = weights.shape[1:3]
    largest = 0.0
    for head, (down, right) in enumerate(shifts.tolist()):
        rows = range(max(0, -down), min(height, height - down))
        columns = range(max(0, -right), min(width, width - right))
        for row in rows:
            there = weights[head, row, columns.start : columns.stop].detach().clone()
            place = torch.arange(len(there), device=there.device)
            there[place, row + down, place + columns.start + right] -= 1
            largest = max(largest, float(there.abs().max()) if there.numel() else 0.0)
    return largest
