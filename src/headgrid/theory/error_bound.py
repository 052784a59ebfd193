"""How far the output of an attention layer can move when its weights move: a bound for every input.

Let the weights a_h(q, .) of head h be replaced by another distribution a'_h(q, .) over the pixels, at a distance
of at most e_h in total variation (half the sum of absolute differences). Both sum to one, so where one is larger it
is so by as much as the other is elsewhere: ``a_h - a'_h = e (m - m')`` with an e of at most e_h and two
distributions m and m'. Therefore

    sum_k (a_h - a'_h)(q, k) x_k = e (mean of the pixels under m - mean of the pixels under m').

A mean of pixels has no coordinate larger than their largest and no Euclidean norm larger than their largest norm.
So output channel o of the layer, to which head h adds its product with the column w_ho of W^(h), moves by at most

    2 M sum_h e_h |w_ho|_1   if no coordinate of any pixel exceeds M in absolute value, and by
    2 R sum_h e_h |w_ho|_2   if no pixel's norm exceeds R

(Hölder's inequality for each head, then the triangle inequality). Value and output biases cancel, as both
distributions sum to one. Nothing else is assumed of the pixels. Rounding is not part of the bound.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headgrid.axes import Pixels


@dataclass(frozen=True)
class ErrorBound:
    """No output of any pixel and channel moves further than ``on(pixels)``, whatever the pixels are."""

    per_value: float
    """The bound for pixels whose largest absolute value is 1."""
    per_norm: float
    """The bound for pixels whose largest Euclidean norm is 1."""

    def on(self, pixels: Pixels) -> float:
        """The smaller of both bounds for these pixels."""
        largest, longest = pixels.abs().max(), torch.linalg.vector_norm(pixels, dim=-1).max()
        return min(self.per_value * float(largest), self.per_norm * float(longest))


@torch.no_grad()
def error_bound(missed: Float[Tensor, "n"], matrices: Float[Tensor, "n c c_out"]) -> ErrorBound:
    """The bound for heads with the matrices W^(h) whose weights move by at most ``missed`` in total variation."""
    share, columns = missed.double().to(matrices.device), matrices.double()
    absolute = 2 * torch.einsum("n,no->o", share, columns.abs().sum(dim=1))
    euclidean = 2 * torch.einsum("n,no->o", share, torch.linalg.vector_norm(columns, dim=1))
    return ErrorBound(per_value=float(absolute.max()), per_norm=float(euclidean.max()))
