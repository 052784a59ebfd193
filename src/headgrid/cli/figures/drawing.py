"""What the functions that draw give back, and how they say that there is nothing to draw."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from matplotlib.figure import Figure

from headgrid.cli.figures.subject import Subject


@dataclass(frozen=True)
class Drawing:
    """A figure, and the name of its files without their ending."""

    name: str
    figure: Figure


@dataclass(frozen=True)
class MovingDrawing:
    """Figures that follow each other."""

    name: str
    frames: Callable[[], Iterator[Figure]]
    """Draws them, one at a time, as often as it is called."""
    num_frames: int


Draw = Callable[[Subject], Iterator[Drawing | MovingDrawing]]
"""Draws one kind of figure; raises `LeftOut` if the model has not what it shows."""
