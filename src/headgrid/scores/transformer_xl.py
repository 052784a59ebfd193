"""The full relative score of equation 8 (Dai et al. 2019): content, content-position, and the vectors u and v."""

import math
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headgrid.encodings import (
    LearnedRelative,
    LearnedRelativeConfig,
    SinusoidalRelative,
    SinusoidalRelativeConfig,
)
from headgrid.scores.term import HeadShape, ScoreParts, ScoreTerm, Structure


@dataclass(frozen=True)
class TransformerXLConfig:
    """Equation 8: ``q . k + q . (W r) + u . k + v . (W r)``, all divided by ``sqrt(D_k)``."""

    encoding: LearnedRelativeConfig | SinusoidalRelativeConfig = field(default_factory=LearnedRelativeConfig)
    """r_delta: learned embeddings of row and column shift, or sinusoids of them."""
    encoding_size: int | None = None
    """D_p, the width of r_delta; as wide as a pixel if not given."""

    def __post_init__(self) -> None:
        if self.encoding_size is not None and self.encoding_size < 1:
            raise ValueError(f"encoding_size must be at least 1, got {self.encoding_size}")

    def build(self, shape: HeadShape) -> "TransformerXLScore":
        size = shape.dim if self.encoding_size is None else self.encoding_size
        return TransformerXLScore(shape.num_heads, shape.head_dim, size, self.encoding.build(size, shape.grid))


class TransformerXLScore(ScoreTerm):
    """``(q + u) . k + (q + v) . (W r)``. As r is a row part beside a column part, so is the second dot product."""

    structure = Structure.CONTENT
    uses_query = True
    uses_key = True

    def __init__(
        self, num_heads: int, head_dim: int, encoding_size: int, encoding: LearnedRelative | SinusoidalRelative
    ) -> None:
        super().__init__()
        self.encoding: LearnedRelative | SinusoidalRelative = encoding
        self.position_key = nn.Linear(encoding_size, num_heads * head_dim, bias=False)
        self.u = nn.Parameter(torch.zeros(num_heads, head_dim))
        self.v = nn.Parameter(torch.zeros(num_heads, head_dim))

    def forward(
        self,
        grid: tuple[int, int],
        query: Float[Tensor, "b n h w d"] | None = None,
        key: Float[Tensor, "b n h w d"] | None = None,
    ) -> ScoreParts:
        assert query is not None
        scale = 1 / math.sqrt(query.shape[-1])
        position_query = (query + self.v[:, None, None, :]) * scale
        weight = self.position_key.weight.unflatten(0, self.u.shape)  # n d p
        row_weight, column_weight = weight.chunk(2, dim=-1)
        # First W^T (q + v), as wide as r: a table of W r for all heads would be larger.
        row_query = torch.einsum("bnhwd,ndp->bnhwp", position_query, row_weight)
        column_query = torch.einsum("bnhwd,ndp->bnhwp", position_query, column_weight)
        return ScoreParts(
            query=(query + self.u[:, None, None, :]) * scale,
            key=key,
            rows=torch.einsum("bnhwp,hyp->bnhwy", row_query, self.encoding.rows(grid[0], query)),
            columns=torch.einsum("bnhwp,wxp->bnhwx", column_query, self.encoding.columns(grid[1], query)),
        )
