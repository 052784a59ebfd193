"""The score of every shift, for layers whose maps depend on the shift alone."""

import copy

import torch
from jaxtyping import Float
from torch import Tensor

from headgrid.attention import MultiheadAttention
from headgrid.scores import Structure


@torch.no_grad()
def shift_scores(layer: MultiheadAttention, grid: tuple[int, int]) -> Float[Tensor, "n shift_rows shift_columns"]:
    """Entry (head, H - 1 + rows, W - 1 + columns) is the score of the shift (rows, columns), in float64.

    An error says so if the layer's scores depend on anything else: on the image, or on where the query stands.
    """
    if layer.score.structure is Structure.CONTENT:
        raise ValueError("the layer's attention depends on the image, not on the shift alone")
    parts = copy.deepcopy(layer.score).double()(grid)
    table = torch.zeros(layer.num_heads, 2 * grid[0] - 1, 2 * grid[1] - 1, dtype=torch.float64)
    if parts.rows is not None:
        table = table.to(parts.rows) + _of_shifts(parts.rows[0, :, :, 0, None, :, None])
    if parts.columns is not None:
        table = table.to(parts.columns) + _of_shifts(parts.columns[0, :, None, 0, :, None, :])
    if parts.dense is not None:
        table = table.to(parts.dense) + _of_shifts(parts.dense)
    return table


def _of_shifts(scores: Float[Tensor, "n h w y x"]) -> Float[Tensor, "n 2*h-1 2*w-1"]:
    """Reads each shift off a query at a corner that has it, and checks that all other queries agree."""
    height, width = scores.shape[1:3]
    above = torch.cat([scores[:, -1:, :, :-1], scores[:, :1]], dim=3)[:, 0]  # n, w, shift rows, x
    table = torch.cat([above[:, -1:, :, :-1], above[:, :1]], dim=3)[:, 0]
    expected = table.unfold(1, height, 1).unfold(2, width, 1).flip(1, 2)
    if not torch.allclose(expected, scores, rtol=1e-9, atol=1e-9):
        raise ValueError("the layer's attention depends on where a pixel stands, not on the shift alone")
    return table
