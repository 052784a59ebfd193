"""How a position, or the shift between two positions, becomes numbers."""

from headgrid.encodings.absolute import (
    LearnedAbsolute,
    LearnedAbsoluteConfig,
    SinusoidalAbsolute,
    SinusoidalAbsoluteConfig,
)
from headgrid.encodings.coordinate import CoordinateEncoding, coordinates
from headgrid.encodings.learned_relative import LearnedRelative, LearnedRelativeConfig
from headgrid.encodings.sinusoidal import SinusoidalRelative, SinusoidalRelativeConfig, sinusoids

__all__ = [
    "CoordinateEncoding",
    "LearnedAbsolute",
    "LearnedAbsoluteConfig",
    "LearnedRelative",
    "LearnedRelativeConfig",
    "SinusoidalAbsolute",
    "SinusoidalAbsoluteConfig",
    "SinusoidalRelative",
    "SinusoidalRelativeConfig",
    "coordinates",
    "sinusoids",
]
