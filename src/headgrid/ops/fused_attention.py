"""Content scores and relative scores in one fused kernel, without an N x N bias.

The row score of a query is appended to its query vector and a one-hot code of the row to each key, likewise
for columns: the dot product of the longer vectors is the whole score, so scaled dot-product attention does
all of it and no map is ever stored.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


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
    batch, (num_rows, num_columns) = len(values), values.shape[-3:-1]
    if query is not None:
        num_heads, height, width = query.shape[1:4]
    elif rows is None or columns is None:
        raise ValueError(
            "fused attention needs content, or a row and a column score: apply a dense score with shared_attention"
        )
    else:
        num_heads, height, width = rows.shape[1], rows.shape[2], columns.shape[3]
    if values.dim() == 4:
        values = values[:, None].expand(-1, num_heads, -1, -1, -1)
    queries = (batch, num_heads, height, width, -1)
    keys = (batch, num_heads, num_rows, num_columns, -1)

    long_query, long_key = [], []
    if query is not None and key is not None:
        long_query.append(query)
        long_key.append(key)
    if rows is not None:
        long_query.append(rows.expand(queries))
        one_hot = torch.eye(num_rows, dtype=values.dtype, device=values.device)
        long_key.append(one_hot[:, None, :].expand(keys))
    if columns is not None:
        long_query.append(columns.expand(queries))
        one_hot = torch.eye(num_columns, dtype=values.dtype, device=values.device)
        long_key.append(one_hot[None, :, :].expand(keys))

    # The flash kernel of the CPU wants queries, keys and values of one width: pad the shorter with zeros.
    parts = [torch.cat(long, dim=-1).to(values.dtype) for long in (long_query, long_key)] + [values]
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
