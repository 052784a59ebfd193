"""The smallest rectangle of shifts that holds nearly all attention of every head.

For a head with scores s(delta), query q of a finite grid sees a window of shifts; let Z(q) be the sum of ``exp(s)``
over it. A footprint F with the sum ``I = sum_F exp(s)`` is whole for the queries of its *interior*: those where q +
F lies on the grid. There the head leaves out ``1 - I / Z(q)``, at most ``1 - I / max Z`` over the interior. All
sums are kept as logarithms, so that nothing overflows, vanishes or cancels.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Footprint:
    """A rectangle of shifts, given by its smallest shift and its size."""

    first_row: int
    first_column: int
    num_rows: int
    num_columns: int

    @property
    def size(self) -> int:
        return self.num_rows * self.num_columns

    def interior(self, height: int, width: int) -> tuple[slice, slice]:
        """The rows and columns of the query pixels whose whole footprint lies on the grid; may be empty."""
        rows = _inside(self.first_row, self.num_rows, height)
        columns = _inside(self.first_column, self.num_columns, width)
        return rows, columns

    def keys_of_interior(self, height: int, width: int) -> tuple[slice, slice]:
        """The rows and columns of the pixels that the interior reads."""
        rows, columns = self.interior(height, width)
        return (
            slice(rows.start + self.first_row, rows.stop + self.first_row + self.num_rows - 1),
            slice(columns.start + self.first_column, columns.stop + self.first_column + self.num_columns - 1),
        )

    def __str__(self) -> str:
        return f"{self.num_rows} x {self.num_columns}"


def _inside(first: int, number: int, length: int) -> slice:
    start = max(0, -first)
    return slice(start, max(start, min(length, length - first - number + 1)))


@dataclass(frozen=True)
class FootprintOfHeads:
    """The footprint, what each head does inside of it, and what it leaves out."""

    footprint: Footprint
    weights: Float[Tensor, "n rows columns"]
    """The heads' distributions over the footprint: they sum to one."""
    missed: Float[Tensor, "n"]
    """The largest share of a head's attention that lies outside, over all queries of the interior."""


def smallest_footprint(scores: Float[Tensor, "n shift_rows shift_columns"], tolerance: float) -> FootprintOfHeads:
    """The smallest footprint, up to half the grid in each direction, that leaves out at most ``tolerance``.

    ``scores`` are those of all shifts on the grid, as `shift_scores` gives them. If half the grid is not enough, it
    is the footprint that leaves out least, and its ``missed`` shows that.
    """
    if not 0 < tolerance < 1:
        raise ValueError(f"the tolerance is a share of attention between 0 and 1, got {tolerance}")
    height, width = ((length + 1) // 2 for length in scores.shape[1:])
    seen = _sums(_sums(scores, 1, height), 2, width).flip(1, 2)  # log Z(q)
    by_rows = {
        rows: (_sums(scores, 1, rows), _largest_over_interior(seen, 1, rows))
        for rows in range(1, max(1, height // 2) + 1)
    }
    best: tuple[float, FootprintOfHeads] | None = None
    sizes = [(rows, columns) for rows in by_rows for columns in range(1, max(1, width // 2) + 1)]
    for rows, columns in sorted(sizes, key=lambda size: (size[0] * size[1], abs(size[0] - size[1]))):
        in_rows, most_in_rows = by_rows[rows]
        inside, most = _sums(in_rows, 2, columns), _largest_over_interior(most_in_rows, 2, columns)
        missed = -torch.expm1(inside - most)
        worst = missed.amax(dim=0)
        row, column = divmod(int(worst.argmin()), worst.shape[1])
        left_out = float(worst[row, column])
        if best is None or left_out < best[0] or left_out <= tolerance:
            within = scores[:, row : row + rows, column : column + columns]
            found = FootprintOfHeads(
                footprint=Footprint(row - (height - 1), column - (width - 1), rows, columns),
                weights=torch.softmax(within.flatten(1), dim=1).view_as(within),
                missed=missed[:, row, column].clamp(min=0),
            )
            best = left_out, found
        if left_out <= tolerance:
            break
    assert best is not None
    return best[1]


def _sums(scores: Float[Tensor, "n rows columns"], axis: int, length: int) -> Float[Tensor, "n _ _"]:
    """The logarithm of the sum of ``exp(scores)`` over windows along an axis."""
    return scores.unfold(axis, length, 1).logsumexp(dim=-1)


def _largest_over_interior(seen: Float[Tensor, "n rows columns"], axis: int, size: int) -> Float[Tensor, "n _ _"]:
    """For each place of a footprint along an axis the largest Z over the queries of its interior."""
    length = seen.shape[axis]
    padding = [0, 0] * (2 - axis) + [length - 1, length - 1]
    padded = torch.nn.functional.pad(seen, padding, value=-torch.inf)
    # A footprint that starts at shift s is whole for the queries -s ... length - s - size, as far as they exist.
    most = padded.unfold(axis, length - size + 1, 1).amax(dim=-1)
    return most.narrow(axis, size - 1, 2 * length - size).flip(axis)
