"""Learned position scores without content (section 4.3): ``w_row . r_row + w_column . r_column`` for each head."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headgrid.encodings import LearnedRelative
from headgrid.scores.term import HeadShape, ScoreParts, ScoreTerm, Structure


@dataclass(frozen=True)
class LearnedPositionConfig:
    """Learned relative encoding, without query or content."""

    size_per_axis: int | None = None
    """Width of a row's and of a column's embedding; as wide as a pixel if not given."""
    bias: bool = False
    """Whether each head adds a bias per axis (the report's code does; the softmax does not see it)."""

    def __post_init__(self) -> None:
        if self.size_per_axis is not None and self.size_per_axis < 1:
            raise ValueError(f"size_per_axis must be at least 1, got {self.size_per_axis}")

    def build(self, shape: HeadShape) -> "LearnedPositionScore":
        size = shape.dim if self.size_per_axis is None else self.size_per_axis
        return LearnedPositionScore(shape.num_heads, size, shape.grid, self.bias)


class LearnedPositionScore(ScoreTerm):
    """A table of embeddings per axis and a vector per head and axis. Not scaled by the width."""

    structure = Structure.SEPARABLE

    def __init__(self, num_heads: int, size_per_axis: int, grid: tuple[int, int], bias: bool) -> None:
        super().__init__()
        self.encoding = LearnedRelative(size_per_axis, grid)
        self.row_vectors = nn.Linear(size_per_axis, num_heads, bias=bias)
        self.column_vectors = nn.Linear(size_per_axis, num_heads, bias=bias)

    def forward(self, grid: tuple[int, int], query: Tensor | None = None, key: Tensor | None = None) -> ScoreParts:
        height, width = grid
        row_scores = _scores_of_shifts(self.row_vectors, self.encoding.row_table)
        column_scores = _scores_of_shifts(self.column_vectors, self.encoding.column_table)
        rows = row_scores[:, self.encoding.row_index(height)]
        columns = column_scores[:, self.encoding.column_index(width)]
        return ScoreParts(rows=rows[None, :, :, None, :], columns=columns[None, :, None, :, :])


def _scores_of_shifts(vectors: nn.Linear, table: Float[Tensor, "shifts p"]) -> Float[Tensor, "n shifts"]:
    # A sum of products and not `vectors(table)`: autocast would round a score of the whole layer to bfloat16.
    scores = torch.sum(vectors.weight[:, None, :] * table, dim=-1)
    return scores if vectors.bias is None else scores + vectors.bias[:, None]
