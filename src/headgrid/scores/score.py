"""An attention score: the sum of the terms that a config lists."""

from functools import reduce
from operator import add

from jaxtyping import Float
from torch import Tensor, nn

from headgrid.axes import Pixels
from headgrid.scores.content import AbsoluteContentConfig, ContentConfig
from headgrid.scores.learned_position import LearnedPositionConfig
from headgrid.scores.position import GeneralizedQuadraticConfig, QuadraticConfig
from headgrid.scores.query_position import QueryPositionConfig
from headgrid.scores.term import HeadShape, ScoreParts, ScoreTerm, Structure
from headgrid.scores.transformer_xl import TransformerXLConfig

ScoreTermConfig = (
    QuadraticConfig
    | GeneralizedQuadraticConfig
    | LearnedPositionConfig
    | QueryPositionConfig
    | ContentConfig
    | AbsoluteContentConfig
    | TransformerXLConfig
)


class Score(nn.Module):
    """A sum of terms. It knows what it depends on, so that the attention can pick its fastest exact path."""

    def __init__(self, configs: tuple[ScoreTermConfig, ...], shape: HeadShape) -> None:
        super().__init__()
        if not configs:
            raise ValueError("an attention score needs at least one term (scores is empty)")
        terms: list[ScoreTerm] = [config.build(shape) for config in configs]
        if sum(term.uses_key for term in terms) > 1:
            names = ", ".join(type(config).__name__.removesuffix("Config") for config in configs)
            raise ValueError(f"a score can have only one term with queries and keys, got several among: {names}")
        self.terms = nn.ModuleList(terms)
        self.structure: Structure = max(term.structure for term in terms)
        self.uses_query = any(term.uses_query for term in terms)
        self.uses_key = any(term.uses_key for term in terms)

    def encode(self, pixels: Pixels) -> Pixels:
        """What queries and keys are computed from."""
        for term in self.terms:
            pixels = term.encode(pixels)  # type: ignore[operator]
        return pixels

    def forward(
        self,
        grid: tuple[int, int],
        query: Float[Tensor, "b n h w d"] | None = None,
        key: Float[Tensor, "b n h w d"] | None = None,
    ) -> ScoreParts:
        return reduce(add, (term(grid, query, key) for term in self.terms))
