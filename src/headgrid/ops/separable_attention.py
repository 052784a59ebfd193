"""Attention whose score is a row term plus a column term.

The softmax over the H x W grid is then the outer product of a softmax over rows and one over columns, so a
head is applied as two small matrix products: N (H + W) multiply-adds per channel instead of N^2, and no
N x N map exists. This is exact: isotropic quadratic and learned position-only scores have this form.
"""

import torch
from jaxtyping import Float
from torch import Tensor


def separable_attention(
    rows: Float[Tensor, "n h y"],
    columns: Float[Tensor, "n w x"],
    values: Float[Tensor, "b y x d"] | Float[Tensor, "b n y x d"],
) -> Float[Tensor, "b h w n d"]:
    """Applies n heads to pixels that they share, or to values of their own.

    ``rows`` and ``columns`` are scores: entry (head, query, key) along one axis; there may be fewer queries than
    keys. Both products are written as batched ones whose operands are views: `torch.matmul` and `torch.einsum`
    copy the large intermediate results and are two to four times slower (``benchmarks/attention_paths.py``).
    """
    (num_heads, height, num_rows), (_, width, num_columns) = rows.shape, columns.shape
    batch, channels = len(values), values.shape[-1]
    row_weights = torch.softmax(rows, dim=-1).to(values.dtype)
    column_weights = torch.softmax(columns, dim=-1).to(values.dtype)
    if values.dim() == 4:
        stacked = row_weights.flatten(0, 1).expand(batch, -1, -1)
        mixed = torch.bmm(stacked, values.reshape(batch, num_rows, num_columns * channels))
    else:
        repeated = row_weights.expand(batch, -1, -1, -1).flatten(0, 1)
        mixed = torch.bmm(repeated, values.reshape(batch * num_heads, num_rows, num_columns * channels))
    if num_columns > channels:
        # Here the weights, repeated for every row, would be larger than the pixels: move the pixels instead, so that
        # the memory stays linear in their number.
        mixed = mixed.view(batch, num_heads, height, num_columns, channels).permute(1, 3, 0, 2, 4).flatten(2)
        output = torch.bmm(column_weights, mixed)
        return output.view(num_heads, width, batch, height, channels).permute(2, 3, 1, 0, 4)
    repeated = column_weights[:, None].expand(batch, -1, height, -1, -1).flatten(0, 2)
    output = torch.bmm(repeated, mixed.view(batch * num_heads * height, num_columns, channels))
    return output.view(batch, num_heads, height, width, channels).permute(0, 2, 3, 1, 4)
