"""Attention with its map written out: slow, obvious, and what every fast path is compared with."""

import torch
from jaxtyping import Float
from torch import Tensor

from headgrid.axes import AttentionWeights
from headgrid.ops.grid_softmax import grid_softmax


def attention_weights(
    query: Float[Tensor, "b n h w d"] | None = None,
    key: Float[Tensor, "b n y x d"] | None = None,
    rows: Float[Tensor, "#b n h #w y"] | None = None,
    columns: Float[Tensor, "#b n #h w x"] | None = None,
    dense: Float[Tensor, "n h w y x"] | None = None,
) -> Float[Tensor, "#b n h w y x"]:
    """The softmax of a sum of score parts; the batch axis is 1 if no part depends on the image.

    The parts: the dot product of ``query`` and ``key``; what depends on the key's row; what depends on the
    key's column; and a map for any pair of pixels. Equation 8 and all encodings of the paper are such sums.
    """
    parts = []
    if query is not None and key is not None:
        parts.append(torch.einsum("bnhwd,bnyxd->bnhwyx", query, key))
    if rows is not None:
        parts.append(rows[..., :, None])
    if columns is not None:
        parts.append(columns[..., None, :])
    if dense is not None:
        parts.append(dense[None])
    if not parts:
        raise ValueError("attention needs at least one score: none of content, rows, columns and dense is given")
    scores = parts[0]
    for part in parts[1:]:
        scores = scores + part
    return grid_softmax(scores)


def apply_attention(
    weights: AttentionWeights, values: Float[Tensor, "b y x d"] | Float[Tensor, "b n y x d"]
) -> Float[Tensor, "b h w n d"]:
    """The weighted mean of the values for each query pixel and head.

    ``values`` are either pixels that all heads share, or values of their own for each head.
    """
    weights = weights.to(values.dtype)
    if values.dim() == 4:
        return torch.einsum("bnhwyx,byxd->bhwnd", weights, values)
    return torch.einsum("bnhwyx,bnyxd->bhwnd", weights, values)
