"""The terms of an attention score. A score is a sum of terms, each chosen by the type of its config."""

from headgrid.scores.content import AbsoluteContentConfig, ContentConfig
from headgrid.scores.initialization import GridCenters, RandomCenters
from headgrid.scores.learned_position import LearnedPositionConfig
from headgrid.scores.position import (
    GeneralizedQuadraticConfig,
    GeneralizedQuadraticScore,
    QuadraticConfig,
    QuadraticScore,
)
from headgrid.scores.query_position import QueryPositionConfig
from headgrid.scores.score import Score, ScoreTermConfig
from headgrid.scores.term import HeadShape, ScoreParts, ScoreTerm, Structure
from headgrid.scores.transformer_xl import TransformerXLConfig

__all__ = [
    "AbsoluteContentConfig",
    "ContentConfig",
    "GeneralizedQuadraticConfig",
    "GeneralizedQuadraticScore",
    "GridCenters",
    "HeadShape",
    "LearnedPositionConfig",
    "QuadraticConfig",
    "QuadraticScore",
    "QueryPositionConfig",
    "RandomCenters",
    "Score",
    "ScoreParts",
    "ScoreTerm",
    "ScoreTermConfig",
    "Structure",
    "TransformerXLConfig",
]
