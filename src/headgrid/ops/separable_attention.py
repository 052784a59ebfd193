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

    ``rows`` and ``columns`` are scores: entry (head, query, key) along one axis; there may be fewer queries than
    keys. One head at a time, so that what lies between its two products stays small. Against one einsum for all
    heads this was as fast or faster in float32, twice with 400 channels, and a third slower on small batches in
    bfloat16 (measured with ``benchmarks/attention_paths.py``).
    """
    row_weights = torch.softmax(rows, dim=-1).to(values.dtype)
    column_weights = torch.softmax(columns, dim=-1).to(values.dtype)
    values_of_heads = [values] * len(rows) if values.dim() == 4 else values.unbind(1)
    outputs = [_apply_head(*head) for head in zip(row_weights, column_weights, values_of_heads, strict=True)]
    return torch.stack(outputs, dim=3)


def _apply_head(
    row_weights: Float[Tensor, "h y"], column_weights: Float[Tensor, "w x"], values: Float[Tensor, "b y x d"]
) -> Float[Tensor, "b h w d"]:
    (height, num_rows), (width, num_columns) = row_weights.shape, column_weights.shape
    columns_first = num_rows * width * (num_columns + height)
    rows_first = height * num_columns * (num_rows + width)
    if rows_first < columns_first:  # few query rows: they leave little to mix along columns
        mixed = _mix(row_weights, values.flatten(2)).unflatten(2, values.shape[2:])
        return _mix(column_weights, mixed.flatten(0, 1)).unflatten(0, (len(values), height))
    mixed = _mix(column_weights, values.flatten(0, 1)).unflatten(0, values.shape[:2])
    return _mix(row_weights, mixed.flatten(2)).unflatten(2, (width, values.shape[-1]))


def _mix(weights: Float[Tensor, "queries keys"], values: Float[Tensor, "b keys d"]) -> Float[Tensor, "b queries d"]:
    """``weights @ values``, written so that no large tensor is copied.

    As it stands PyTorch folds the batch into one large product and copies the values transposed, which took twice
    the time. The batched product has a gradient of the weights for every item of the batch; where these would be
    larger than the values, the copy is the better choice.
    """
    if len(weights) > values.shape[-1]:
        return weights @ values
    return torch.bmm(weights.expand(len(values), -1, -1), values)
