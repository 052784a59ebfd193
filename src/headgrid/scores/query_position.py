"""Query-position scores: the query against a learned encoding of the shift (Ramachandran et al. 2019)."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headgrid.encodings import LearnedRelative
from headgrid.scores.term import HeadShape, ScoreParts, ScoreTerm, Structure


@dataclass(frozen=True)
class QueryPositionConfig:
    """Learned relative encoding with the query: ``(q_row . r_row + q_column . r_column) / sqrt(D_k)``."""

    def build(self, shape: HeadShape) -> "QueryPositionScore":
        if shape.head_dim % 2:
            raise ValueError(
                f"query-position scores split a query into a half for rows and one for columns: "
                f"the head width must be even, got {shape.head_dim}"
            )
        return QueryPositionScore(shape.head_dim // 2, shape.grid)


class QueryPositionScore(ScoreTerm):
    """The first half of a query's channels meets the row shift, the second half the column shift."""

    structure = Structure.CONTENT
    uses_query = True

    def __init__(self, size_per_axis: int, grid: tuple[int, int]) -> None:
        super().__init__()
        self.encoding = LearnedRelative(size_per_axis, grid)

    def forward(
        self,
        grid: tuple[int, int],
        query: Float[Tensor, "b n h w d"] | None = None,
        key: Float[Tensor, "b n h w d"] | None = None,
    ) -> ScoreParts:
        assert query is not None
        row_query, column_query = query.chunk(2, dim=-1)
        root = math.sqrt(query.shape[-1])  # dividing the tables by it is less work than dividing all queries
        return ScoreParts(
            rows=torch.einsum("bnhwp,hyp->bnhwy", row_query, self.encoding.rows(grid[0], query) / root),
            columns=torch.einsum("bnhwp,wxp->bnhwx", column_query, self.encoding.columns(grid[1], query) / root),
        )
