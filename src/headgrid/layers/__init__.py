"""Small parts without attention."""

from headgrid.layers.class_token import (
    ClassTokenConfig,
    LearnedClassToken,
    LearnedClassTokenConfig,
    NoClassTokenConfig,
    RandomClassToken,
    RandomClassTokenConfig,
)
from headgrid.layers.classifier import MeanPoolClassifier
from headgrid.layers.feed_forward import Activation, FeedForward
from headgrid.layers.grouped_head_mixing import GroupedHeadMixing
from headgrid.layers.head_mixing import HeadMixing
from headgrid.layers.norm_relu import NormReLU
from headgrid.layers.normalized_linear import NormalizedLinear
from headgrid.layers.patch_embedding import PatchEmbedding
from headgrid.layers.pixel_concatenation import PixelConcatenation
from headgrid.layers.token_pooling import (
    ClassTokenPooling,
    FinalNorm,
    MeanOfPatches,
    MeanOfTokens,
    NoFinalNorm,
    NormAfterPooling,
    NormBeforePooling,
    TokenClassifier,
    TokenPooling,
)
from headgrid.layers.token_positions import (
    LearnedPositions,
    LearnedPositionsConfig,
    SinusoidalPositions,
    SinusoidalPositionsConfig,
    resized_table,
)

__all__ = [
    "Activation",
    "ClassTokenConfig",
    "ClassTokenPooling",
    "FeedForward",
    "FinalNorm",
    "GroupedHeadMixing",
    "HeadMixing",
    "LearnedClassToken",
    "LearnedClassTokenConfig",
    "LearnedPositions",
    "LearnedPositionsConfig",
    "MeanOfPatches",
    "MeanOfTokens",
    "MeanPoolClassifier",
    "NoClassTokenConfig",
    "NoFinalNorm",
    "NormAfterPooling",
    "NormBeforePooling",
    "NormReLU",
    "NormalizedLinear",
    "PatchEmbedding",
    "PixelConcatenation",
    "RandomClassToken",
    "RandomClassTokenConfig",
    "SinusoidalPositions",
    "SinusoidalPositionsConfig",
    "TokenClassifier",
    "TokenPooling",
    "resized_table",
]
