"""What stands in a figure: its panels, their pictures and frames, the words on it."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle


def panels(figure: Figure) -> list[Axes]:
    """The visible axes that show a picture or a grid of pixels: no colour bars, no pages."""
    return [axis for axis in figure.axes if axis.get_visible() and axis.axison and not hasattr(axis, "_colorbar")]


def rows_of_panels(axes: list[Axes]) -> list[list[Axes]]:
    """From the top to the bottom, and from left to right, as they stand on the page."""
    tops = sorted({round(axis.get_position().y1, 4) for axis in axes}, reverse=True)
    return [
        sorted(
            (axis for axis in axes if round(axis.get_position().y1, 4) == top), key=lambda a: a.get_position().x0
        )
        for top in tops
    ]


def picture(axis: Axes, number: int = -1) -> np.ndarray:
    """The numbers of an image on the axes."""
    return np.asarray(axis.images[number].get_array())


def frames(axis: Axes) -> list[tuple[float, float, float]]:
    """Row and column of the middles of the rectangles on the axes, and how many rows of pixels they frame."""
    found = [patch for patch in axis.patches if isinstance(patch, Rectangle) and not patch.get_fill()]
    return [(f.get_y() + f.get_height() / 2, f.get_x() + f.get_width() / 2, f.get_height()) for f in found]


def words(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.texts]


def place(figure: Figure, text: str) -> tuple[float, float]:
    """Where on the page (from the left, from the top) a word stands."""
    (found,) = (each for each in figure.texts if each.get_text() == text)
    x, y = found.get_position()
    return x, 1 - y


def shown_row(axis: Axes, row: float) -> float:
    """How far below the upper border of the panel, from 0 to 1, a row is shown."""
    _, up = axis.transAxes.inverted().transform(axis.transData.transform((0, row)))
    return 1 - float(up)
