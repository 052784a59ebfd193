"""Coordinates as features, for local attention: where a pixel stands on its map, through a learned 2 -> 2 map."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headgrid.ops import without_autocast


def coordinates(height: int, width: int, like: Tensor) -> Float[Tensor, "h w 2"]:
    """The position of every pixel, from -1 to 1 along each axis.

    In the order (column, row), against the habit of this library: the order in which the official SAN has it, and
    with it the meaning of its weights. A map of one pixel has the coordinate -1.
    """
    rows, columns = (torch.linspace(-1, 1, size, device=like.device, dtype=like.dtype) for size in (height, width))
    return torch.stack(torch.meshgrid(columns, rows, indexing="xy"), dim=-1)


class CoordinateEncoding(nn.Module):
    """The position features p_i of SAN: coordinates, scaled and mixed by a linear layer of each attention layer."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, height: int, width: int) -> Float[Tensor, "h w 2"]:
        weight = self.linear.weight
        # Neighbouring pixels of a large map differ by less than a bfloat16 resolves.
        with without_autocast(weight):
            return self.linear(coordinates(height, width, weight))
