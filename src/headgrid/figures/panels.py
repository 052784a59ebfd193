"""Grids of panels that all have the shape of what they show, placed to the hundredth of an inch.

matplotlib's own layouts shrink panels of a fixed shape inside of their places and leave gaps, and differ with the
length of labels. Here the panels come first and the figure is as large as they and the margins need.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from headgrid.figures.style import FONT, LIGHT, TEXT_WIDTH, TITLE_SIZE

TITLE_HEIGHT = 0.2
"""Inches."""


@dataclass(frozen=True)
class Margins:
    """Inches around the panels, for labels, a title, a colour bar."""

    left: float = 0.05
    right: float = 0.05
    top: float = 0.25
    bottom: float = 0.05


@dataclass(frozen=True)
class PanelGrid:
    """A figure with its panels, rows before columns; lengths are in inches."""

    figure: Figure
    axes: Any
    """An array (rows, columns) of matplotlib's Axes."""
    panel_size: tuple[float, float]
    """Height and width of a panel."""
    margins: Margins
    gap: tuple[float, float]
    """Between rows, and between columns."""

    @property
    def size(self) -> tuple[float, float]:
        """Height and width of the figure."""
        width, height = self.figure.get_size_inches()
        return float(height), float(width)

    def left(self, column: int) -> float:
        """From the left border of the figure to that of a column of panels."""
        return self.margins.left + column * (self.panel_size[1] + self.gap[1])

    def top(self, row: int) -> float:
        """From the upper border of the figure to that of a row of panels."""
        return self.margins.top + row * (self.panel_size[0] + self.gap[0])

    def add_axes(self, left: float, top: float, height: float, width: float) -> Axes:
        """Axes in a place of their own."""
        total_height, total_width = self.size
        return self.figure.add_axes(
            (left / total_width, 1 - (top + height) / total_height, width / total_width, height / total_height)
        )

    def text(self, left: float, top: float, words: str, **how: Any) -> None:
        total_height, total_width = self.size
        self.figure.text(left / total_width, 1 - top / total_height, words, **how)

    def name_rows(self, names: list[str]) -> None:
        """A name to the left of each row."""
        for row, name in enumerate(names):
            middle = self.top(row) + self.panel_size[0] / 2
            self.text(self.margins.left - 0.06, middle, name, ha="right", va="center")

    def name_columns(self, names: list[str], above: float = 0.05) -> None:
        """A name over each column."""
        for column, name in enumerate(names):
            middle = self.left(column) + self.panel_size[1] / 2
            self.text(middle, self.margins.top - above, name, ha="center", va="bottom")


def panel_grid(
    num_rows: int,
    num_columns: int,
    shape: tuple[int, int],
    margins: Margins,
    *,
    gap: tuple[float, float] = (0.05, 0.05),
    width: float = TEXT_WIDTH,
    largest: float = 1.5,
    lowest_height: float = 0.0,
    least_width: float = 0.0,
    title: str = "",
) -> PanelGrid:
    """Panels of the shape (height, width), as large as the width allows but no side longer than ``largest``.

    The figure is at least ``lowest_height`` high within its upper and lower margin, for what stands beside the
    panels, and at least ``least_width`` wide; a title is given room above the upper margin, and the width it needs.
    """
    if title:
        margins = replace(margins, top=margins.top + TITLE_HEIGHT)
        least_width = max(least_width, text_width(title, TITLE_SIZE) + 0.1)
    height_units, width_units = shape
    available = (width - margins.left - margins.right - (num_columns - 1) * gap[1]) / num_columns
    panel_width = min(available, largest, largest * width_units / height_units)
    panel_height = panel_width * height_units / width_units
    total_width = margins.left + num_columns * panel_width + (num_columns - 1) * gap[1] + margins.right
    if total_width < least_width:
        beside = (least_width - total_width) / 2
        margins = replace(margins, left=margins.left + beside, right=margins.right + beside)
        total_width = least_width
    rows_height = max(num_rows * panel_height + (num_rows - 1) * gap[0], lowest_height)
    total_height = margins.top + rows_height + margins.bottom
    grid = PanelGrid(
        Figure(figsize=(total_width, total_height)),
        np.empty((num_rows, num_columns), dtype=object),
        (panel_height, panel_width),
        margins,
        gap,
    )
    for row in range(num_rows):
        for column in range(num_columns):
            grid.axes[row, column] = grid.add_axes(grid.left(column), grid.top(row), panel_height, panel_width)
    if title:
        grid.text(total_width / 2, 0.07, title, ha="center", va="top", fontsize=TITLE_SIZE)
    return grid


def text_width(words: str, size: float) -> float:
    """Inches that a line of text takes."""
    return float(TextPath((0, 0), words, size=size, prop=FontProperties(family=FONT)).get_extents().x1) / 72


def frame_only(axis: Axes) -> None:
    """No ticks, a thin frame."""
    axis.set_xticks([])
    axis.set_yticks([])
    for spine in axis.spines.values():
        spine.set(color=LIGHT, linewidth=0.5)
