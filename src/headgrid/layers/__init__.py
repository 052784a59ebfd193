"""Small parts without attention."""

from headgrid.layers.classifier import MeanPoolClassifier
from headgrid.layers.feed_forward import Activation, FeedForward
from headgrid.layers.grouped_head_mixing import GroupedHeadMixing
from headgrid.layers.head_mixing import HeadMixing
from headgrid.layers.norm_relu import NormReLU
from headgrid.layers.normalized_linear import NormalizedLinear
from headgrid.layers.pixel_concatenation import PixelConcatenation

__all__ = [
    "Activation",
    "FeedForward",
    "GroupedHeadMixing",
    "HeadMixing",
    "MeanPoolClassifier",
    "NormReLU",
    "NormalizedLinear",
    "PixelConcatenation",
]
