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

    @property
    def cost(self) -> tuple[int, int]:
        """Its size and, among equals, how far it is from a square."""
        return self.size, abs(self.num_rows - self.num_columns)

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

    def keeps(self, tolerance: float) -> bool:
        """Whether no head misses more; not where scores are NaN, either."""
        return bool((self.missed <= tolerance).all())


def smallest_footprint(scores: Float[Tensor, "n shift_rows shift_columns"], tolerance: float) -> FootprintOfHeads:
    """The smallest footprint, up to half the grid in each direction, that leaves out at most ``tolerance``.

    ``scores`` are those of all shifts on the grid, as `shift_scores` gives them. If half the grid is not enough, it
    is the footprint that leaves out least, and its ``missed`` shows that.
    """
    if not 0 < tolerance < 1:
        raise ValueError(f"the tolerance is a share of attention between 0 and 1, got {tolerance}")
    height, width = ((length + 1) // 2 for length in scores.shape[1:])
    seen = _sums(_sums(scores, 1, height), 2, width).flip(1, 2)  # log Z(q)
    most_rows, most_columns = max(1, height // 2), max(1, width // 2)
    best = _best_place(scores, *_by_rows(scores, seen, most_rows), most_rows, most_columns)
    if not best.keeps(tolerance):
        return best  # whatever a smaller one holds, this one holds as well
    # A footprint around another holds more, and is whole for fewer queries. So the more rows there are, the fewer
    # columns are needed: a walk along the edge of what is enough meets every candidate.
    columns = most_columns
    for rows in range(1, most_rows + 1):
        if rows > best.footprint.size:
            break
        by_rows = _by_rows(scores, seen, rows)
        while columns > 0:
            found = _best_place(scores, *by_rows, rows, columns)
            if not found.keeps(tolerance):
                break
            best = min(best, found, key=lambda heads: heads.footprint.cost)
            columns -= 1
    return best


def _by_rows(scores: Tensor, seen: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """What footprints of so many rows need of each column."""
    return _sums(scores, 1, rows), _largest_over_interior(seen, 1, rows)


def _best_place(
    scores: Float[Tensor, "n shift_rows shift_columns"],
    in_rows: Tensor,
    most_in_rows: Tensor,
    rows: int,
    columns: int,
) -> FootprintOfHeads:
    """The footprint of this size that leaves out least of the head that it suits worst."""
    inside, most = _sums(in_rows, 2, columns), _largest_over_interior(most_in_rows, 2, columns)
    missed = -torch.expm1(inside - most)
    worst = missed.amax(dim=0)
    row, column = divmod(int(worst.argmin()), worst.shape[1])
    within = scores[:, row : row + rows, column : column + columns]
    height, width = ((length + 1) // 2 for length in scores.shape[1:])
    return FootprintOfHeads(
        footprint=Footprint(row - (height - 1), column - (width - 1), rows, columns),
        weights=torch.softmax(within.flatten(1), dim=1).view_as(within),
        missed=missed[:, row, column].clamp(min=0),
    )


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
