"""Learned relative encoding: one embedding per row shift and one per column shift (section 4.3).

The encoding of a shift is the pair of its row's and its column's embedding, as in Ramachandran et al. (2019).
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from headgrid.geometry import axis_shifts


@dataclass(frozen=True)
class LearnedRelativeConfig:
    """A learned embedding per row shift and per column shift."""

    def build(self, size: int, grid: tuple[int, int]) -> "LearnedRelative":
        if size % 2:
            raise ValueError(
                f"a learned relative encoding has one half for rows and one for columns: {size} is odd"
            )
        return LearnedRelative(size // 2, grid)


class LearnedRelative(nn.Module):
    """Tables of ``2 * rows - 1`` and ``2 * columns - 1`` embeddings, entry 0 for the most negative shift."""

    def __init__(self, size_per_axis: int, grid: tuple[int, int]) -> None:
        super().__init__()
        rows, columns = grid
        self.row_table = nn.Parameter(torch.randn(2 * rows - 1, size_per_axis))
        self.column_table = nn.Parameter(torch.randn(2 * columns - 1, size_per_axis))

    @property
    def grid(self) -> tuple[int, int]:
        """The largest (rows, columns) that the tables cover."""
        return (len(self.row_table) + 1) // 2, (len(self.column_table) + 1) // 2

    def row_index(self, height: int) -> Tensor:
        """The entry of the row table for each (query row, key row)."""
        return self._index(height, self.grid[0], "rows")

    def column_index(self, width: int) -> Tensor:
        """The entry of the column table for each (query column, key column)."""
        return self._index(width, self.grid[1], "columns")

    def rows(self, height: int, like: Tensor) -> Float[Tensor, "h y p"]:
        return self.row_table[self.row_index(height)]

    def columns(self, width: int, like: Tensor) -> Float[Tensor, "w x p"]:
        return self.column_table[self.column_index(width)]

    @torch.no_grad()
    def enlarge(self, grid: tuple[int, int]) -> None:
        """Stretches the tables to another grid by linear interpolation; shift 0 stays shift 0."""
        for name, length in (("row_table", grid[0]), ("column_table", grid[1])):
            table = getattr(self, name)
            stretched = F.interpolate(table.T[None], size=2 * length - 1, mode="linear", align_corners=True)[
                0
            ].T.contiguous()
            setattr(self, name, nn.Parameter(stretched, requires_grad=table.requires_grad))

    def _index(self, length: int, longest: int, what: str) -> Tensor:
        if length > longest:
            raise ValueError(
                f"the learned relative encoding was built for at most {longest} {what} and the map has {length}: "
                f"build the model for larger images, or stretch its tables with enlarge_tables(model, image_size)"
            )
        return axis_shifts(length, self.row_table.device) + longest - 1
