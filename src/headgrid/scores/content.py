"""Content scores: the dot product of a query and a key, of plain pixels or with an absolute encoding added."""

import math
from dataclasses import dataclass, field

from jaxtyping import Float
from torch import Tensor, nn

from headgrid.axes import Pixels
from headgrid.encodings import LearnedAbsoluteConfig, SinusoidalAbsoluteConfig
from headgrid.scores.term import HeadShape, ScoreParts, ScoreTerm, Structure


@dataclass(frozen=True)
class ContentConfig:
    """Content: ``q . k / sqrt(D_k)`` (equation 2)."""

    def build(self, shape: HeadShape) -> "ContentScore":
        return ContentScore()


class ContentScore(ScoreTerm):
    """``q . k / sqrt(D_k)``. The projections belong to the attention, which shares them between terms."""

    structure = Structure.CONTENT
    uses_query = True
    uses_key = True

    def forward(
        self,
        grid: tuple[int, int],
        query: Float[Tensor, "b n h w d"] | None = None,
        key: Float[Tensor, "b n h w d"] | None = None,
    ) -> ScoreParts:
        assert query is not None
        return ScoreParts(query=query / math.sqrt(query.shape[-1]), key=key)


@dataclass(frozen=True)
class AbsoluteContentConfig:
    """Content with an absolute encoding: ``(x_q + p_q) W_qry W_key^T (x_k + p_k)`` (equations 3 and 7)."""

    encoding: LearnedAbsoluteConfig | SinusoidalAbsoluteConfig = field(default_factory=LearnedAbsoluteConfig)
    """The vector P of each pixel: learned, or sinusoids."""

    def build(self, shape: HeadShape) -> "AbsoluteContentScore":
        return AbsoluteContentScore(self.encoding.build(shape.dim, shape.grid))


class AbsoluteContentScore(ContentScore):
    """As `ContentScore`, with P added to what queries and keys are computed from; values stay as they are."""

    def __init__(self, encoding: nn.Module) -> None:
        super().__init__()
        self.encoding = encoding

    def encode(self, pixels: Pixels) -> Pixels:
        return pixels + self.encoding(pixels.shape[1], pixels.shape[2], pixels)
