"""Attention whose score is a row term plus a column term.

The softmax over the H x W grid is then the outer product of a softmax over rows and one over columns, so a
head is applied as two small matrix products: N (H + W) multiply-adds per channel instead of N^2, and no
N x N map exists. This is exact: isotropic quadratic and learned position-only scores have this form.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from headgrid.axes import ColumnScores, RowScores


def separable_attention(
    rows: RowScores, columns: ColumnScores, values: Float[Tensor, "b y x d"] | Float[Tensor, "b n y x d"]
) -> Float[Tensor, "b h w n d"]:
    """Applies n heads to pixels that they share, or to values of their own.

    ``rows`` and ``columns`` are scores: entry (head, query, key) along one axis. A loop over the heads keeps the
    intermediate results in the cache and makes two plain matrix products of each; it was faster than one batched
    einsum for every shape that we measured (see ``benchmarks/attention_paths.py``).
    """
    row_weights = torch.softmax(rows, dim=-1).to(values.dtype)
    column_weights = torch.softmax(columns, dim=-1).to(values.dtype)
    outputs = []
    for head, (row_weight, column_weight) in enumerate(zip(row_weights, column_weights, strict=True)):
        own = values if values.dim() == 4 else values[:, head]
        mixed_columns = column_weight @ own
        mixed = row_weight @ mixed_columns.flatten(2)
        outputs.append(mixed.unflatten(2, mixed_columns.shape[2:]))
    return torch.stack(outputs, dim=3)
