"""What a term of an attention score is, and the parts that terms add up to."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import IntEnum

from jaxtyping import Float
from torch import Tensor, nn

from headgrid.axes import Pixels


class Structure(IntEnum):
    """What a score depends on; the attention picks its fastest exact path by it. A sum has the largest."""

    SEPARABLE = 0
    """A row term plus a column term, the same for every image."""
    SHARED = 1
    """Any function of the two positions, the same for every image."""
    CONTENT = 2
    """Depends on the image."""


@dataclass(frozen=True)
class HeadShape:
    """The sizes that a term is built for."""

    num_heads: int
    dim: int
    """Channels of a pixel."""
    head_dim: int
    """Channels of one head's query and key."""
    grid: tuple[int, int]
    """The (rows, columns) that learned tables cover."""


@dataclass(frozen=True)
class ScoreParts:
    """A score as a sum: ``query . key + rows + columns + dense``; a part that is None is zero.

    The batch axis of ``rows`` and ``columns`` is 1 where they do not depend on the image, and their other
    spatial axis is 1 where they do not depend on that coordinate of the query.
    """

    query: Float[Tensor, "b n h w d"] | None = None
    key: Float[Tensor, "b n y x d"] | None = None
    rows: Float[Tensor, "#b n h #w y"] | None = None
    columns: Float[Tensor, "#b n #h w x"] | None = None
    dense: Float[Tensor, "n h w y x"] | None = None

    def of_queries(self, rows: slice | Tensor, columns: slice | Tensor) -> "ScoreParts":
        """The score of the query pixels in some rows and some columns only; all keys stay."""
        return ScoreParts(
            query=None if self.query is None else self.query[:, :, rows][:, :, :, columns],
            key=self.key,
            rows=None if self.rows is None else _where_it_varies(self.rows[:, :, rows], 3, columns),
            columns=None if self.columns is None else _where_it_varies(self.columns, 2, rows)[:, :, :, columns],
            dense=None if self.dense is None else self.dense[:, rows][:, :, columns],
        )

    def __add__(self, other: "ScoreParts") -> "ScoreParts":
        if self.query is not None and other.query is not None:
            raise ValueError("a score can have only one term with queries and keys: drop one of the content terms")
        return ScoreParts(
            query=other.query if self.query is None else self.query,
            key=other.key if self.key is None else self.key,
            rows=_sum(self.rows, other.rows),
            columns=_sum(self.columns, other.columns),
            dense=_sum(self.dense, other.dense),
        )


def _where_it_varies(part: Tensor, axis: int, selection: slice | Tensor) -> Tensor:
    """A part keeps an axis of size 1 on which it does not depend."""
    if part.shape[axis] == 1:
        return part
    return part[(slice(None),) * axis + (selection,)]


def _sum(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    if first is None:
        return second
    return first if second is None else first + second


class ScoreTerm(nn.Module, ABC):
    """One summand of an attention score."""

    structure: Structure
    uses_query: bool = False
    uses_key: bool = False

    def encode(self, pixels: Pixels) -> Pixels:
        """What queries and keys are computed from; only absolute encodings change it."""
        return pixels

    @abstractmethod
    def forward(
        self,
        grid: tuple[int, int],
        query: Float[Tensor, "b n h w d"] | None = None,
        key: Float[Tensor, "b n h w d"] | None = None,
    ) -> ScoreParts:
        """The parts of this term on a map of ``grid`` pixels."""
