"""Relative scores as part of a dot product: longer queries, longer keys."""

import torch
from jaxtyping import Float
from torch import Tensor


def with_position_codes(
    grid: tuple[int, int],
    batch: int,
    like: Tensor,
    query: Float[Tensor, "b n h w d"] | None = None,
    key: Float[Tensor, "b n y x d"] | None = None,
    rows: Float[Tensor, "#b n h #w y"] | None = None,
    columns: Float[Tensor, "#b n #h w x"] | None = None,
) -> tuple[Float[Tensor, "b n h w l"], Float[Tensor, "b n y x l"]]:
    """Queries and keys whose dot product is ``query . key + rows + columns``, in the precision of ``like``.

    The row score of a query is appended to its query vector and a one-hot code of the row to each key, likewise for
    columns. ``grid`` is the map of the keys.
    """
    num_rows, num_columns = grid
    if query is not None:
        num_heads, height, width = query.shape[1:4]
    elif rows is None or columns is None:
        raise ValueError("attention without content needs a row and a column score")
    else:
        num_heads, height, width = rows.shape[1], rows.shape[2], columns.shape[3]
    queries = (batch, num_heads, height, width, -1)
    keys = (batch, num_heads, num_rows, num_columns, -1)
    long_query, long_key = [], []
    if query is not None and key is not None:
        long_query.append(query)
        long_key.append(key)
    if rows is not None:
        long_query.append(rows.expand(queries))
        long_key.append(torch.eye(num_rows, dtype=like.dtype, device=like.device)[:, None, :].expand(keys))
    if columns is not None:
        long_query.append(columns.expand(queries))
        long_key.append(torch.eye(num_columns, dtype=like.dtype, device=like.device)[None, :, :].expand(keys))
    return torch.cat(long_query, dim=-1).to(like.dtype), torch.cat(long_key, dim=-1).to(like.dtype)
