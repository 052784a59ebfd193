"""Content scores and relative scores in one fused kernel, without an N x N bias.

The row score of a query is appended to its query vector and a one-hot code of the row to each key, likewise
for columns: the dot product of the longer vectors is the whole score, so scaled dot-product attention does
all of it and no map is ever stored.
"""

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from headgrid.ops.position_codes import with_position_codes


def fused_attention(
    values: Float[Tensor, "b y x v"] | Float[Tensor, "b n y x v"],
    query: Float[Tensor, "b n h w d"] | None = None,
    key: Float[Tensor, "b n y x d"] | None = None,
    rows: Float[Tensor, "#b n h #w y"] | None = None,
    columns: Float[Tensor, "#b n #h w x"] | None = None,
    dense: Float[Tensor, "n h w y x"] | None = None,
    dropout: float = 0.0,
) -> Float[Tensor, "b h w n v"]:
    """Softmax attention with the score ``query . key + rows + columns + dense`` (no other scaling).

    The arguments are those of `headgrid.ops.attention_weights`.
    """
    if query is None and (rows is None or columns is None):
        raise ValueError(
            "fused attention needs content, or a row and a column score: apply a dense score with shared_attention"
        )
    long_query, long_key = with_position_codes(
        (values.shape[-3], values.shape[-2]), len(values), values, query, key, rows, columns
    )
    num_heads, height, width = long_query.shape[1:4]
    if values.dim() == 4:
        values = values[:, None].expand(-1, num_heads, -1, -1, -1)

    # The flash kernel of the CPU wants queries, keys and values of one width: pad the shorter with zeros.
    parts = (long_query, long_key, values)
    longest = max(part.shape[-1] for part in parts)
    output = F.scaled_dot_product_attention(
        *(F.pad(part, (0, longest - part.shape[-1])).flatten(2, 3) for part in parts),
        attn_mask=None if dense is None else dense.flatten(3).flatten(1, 2)[None].to(values.dtype),
        dropout_p=dropout,
        scale=1.0,
    )
    output = output[..., : values.shape[-1]].unflatten(2, (height, width))
    return output.permute(0, 2, 3, 1, 4)


def map_is_faster(
    values: Float[Tensor, "b y x v"] | Float[Tensor, "b n y x v"], head_dim: int, dense: bool, dropout: float
) -> bool:
    """Whether writing the attention map out is faster than the fused kernel, and no larger than its inputs.

    On a CPU the kernel gains time on large maps only: on 16 x 16 pixels of 400 channels training took 1.5 times as
    long as with the map in float32 and three times in bfloat16, on 32 x 40 pixels of 64 channels two thirds
    (``benchmarks/attention_paths.py``). With dropout or a dense score that learns it builds the map anyway.
    """
    num_rows, num_columns = values.shape[-3:-1]
    small = num_rows * num_columns <= head_dim + num_rows + num_columns
    return values.device.type == "cpu" and (small or dense or dropout > 0)
