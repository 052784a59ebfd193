"""Content and relative scores through a map that is written out once: the way of a CPU on small maps."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from headgrid.ops.position_codes import with_position_codes


def map_attention(
    values: Float[Tensor, "b y x v"] | Float[Tensor, "b n y x v"],
    query: Float[Tensor, "b n h w d"] | None = None,
    key: Float[Tensor, "b n y x d"] | None = None,
    rows: Float[Tensor, "#b n h #w y"] | None = None,
    columns: Float[Tensor, "#b n #h w x"] | None = None,
    dense: Float[Tensor, "n h w y x"] | None = None,
    dropout: float = 0.0,
) -> Float[Tensor, "b h w n v"]:
    """Softmax attention with the score ``query . key + rows + columns + dense``, as `fused_attention` has it.

    All of the score but the dense part is one product, and the map stays in the precision of the values, in which
    the second product takes it anyway: softmax itself sums in float32. So there is no copy of a map to convert it,
    and none to add a part of the score.
    """
    long_query, long_key = with_position_codes(
        (values.shape[-3], values.shape[-2]), len(values), values, query, key, rows, columns
    )
    height, width = long_query.shape[2:4]
    scores = long_query.flatten(2, 3) @ long_key.flatten(2, 3).mT
    if dense is not None:
        scores = scores + dense.flatten(3).flatten(1, 2).to(scores.dtype)
    weights = F.dropout(torch.softmax(scores, dim=-1), dropout).to(values.dtype)
    if values.dim() == 4:  # the heads share their values: all of them in one product per image
        heads = (weights.flatten(1, 2) @ values.flatten(1, 2)).unflatten(1, (-1, height, width))
    else:
        heads = (weights @ values.flatten(2, 3)).unflatten(2, (height, width))
    return heads.permute(0, 2, 3, 1, 4)
