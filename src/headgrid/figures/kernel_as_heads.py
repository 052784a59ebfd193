"""Theorem 1 as a picture: a convolution kernel beside the attention heads that compute it."""

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy import ndarray

from headgrid.figures.map_grid import draw_map, draw_scale
from headgrid.figures.panels import Margins, PanelGrid, frame_only, panel_grid
from headgrid.figures.style import ATTENTION, INK, LIGHT, SIGNED, in_style, map_scale

ELEMENT = 0.38
"""Inches: the side of an element of the kernel."""


@in_style
def kernel_as_heads(
    kernel: Float[ndarray, "rows columns"],
    maps: Float[ndarray, "n y x"],
    query: tuple[int, int],
    title: str = "",
) -> Figure:
    """The kernel's elements to the left; to the right, at the same places, the map of the head that reads each.

    ``maps`` are the attention weights of one query pixel (in a frame), heads in the kernel's row-major order, and
    the number over a map is what the head's result is multiplied by: the kernel's element.
    """
    num_rows, num_columns = kernel.shape
    if len(maps) != num_rows * num_columns:
        raise ValueError(
            f"a {num_rows} x {num_columns} kernel is computed by {num_rows * num_columns} heads, got {len(maps)}"
        )
    height, width = maps.shape[1:]
    kernel_width = ELEMENT * num_columns
    margins = Margins(left=max(kernel_width, 0.8) + 0.35, right=0.42, top=0.4, bottom=0.06)
    grid = panel_grid(
        num_rows, num_columns, (height, width), margins,
        gap=(0.16, 0.06), largest=1.0, lowest_height=ELEMENT * num_rows, title=title,
    )  # fmt: skip
    _draw_kernel(grid, kernel)
    for axis, weights, element in zip(grid.axes.flat, maps, kernel.flat, strict=True):
        draw_map(axis, weights, signed=False, query=query, largest=1.0)
        axis.set_title(_signed(float(element)), fontsize=6.5, pad=2)
        _pixel_lines(axis, height, width)
    middle = (grid.margins.left + grid.size[1] - grid.margins.right) / 2
    above = grid.margins.top - 0.2
    grid.text(middle, above, "its heads: attention of one query pixel", ha="center", va="bottom")
    draw_scale(grid, False, "attention weight", ATTENTION, ends=("0", "1"))
    return grid.figure


def _draw_kernel(grid: PanelGrid, kernel: Float[ndarray, "rows columns"]) -> None:
    rows, columns = kernel.shape
    left = grid.margins.left - 0.25 - ELEMENT * columns
    axis = grid.add_axes(left, grid.margins.top, ELEMENT * rows, ELEMENT * columns)
    largest = float(np.abs(kernel).max())
    axis.imshow(kernel, cmap=SIGNED, norm=map_scale(largest, signed=True), extent=(0, columns, rows, 0))
    for (row, column), element in np.ndenumerate(kernel):
        color = "white" if abs(element) > 0.6 * largest else INK
        words = _signed(float(element))
        axis.text(column + 0.5, row + 0.5, words, ha="center", va="center", color=color, fontsize=6.5)
    _pixel_lines(axis, rows, columns)
    words = f"{rows} × {columns} kernel"
    grid.text(left + ELEMENT * columns / 2, grid.margins.top - 0.2, words, ha="center", va="bottom")


def _signed(element: float) -> str:
    return "0" if abs(element) < 0.005 else f"{element:+.2f}".replace("-", "−")


def _pixel_lines(axis: Axes, height: int, width: int) -> None:
    frame_only(axis)
    axis.hlines(range(1, height), 0, width, color=LIGHT, linewidth=0.3, zorder=0.5)
    axis.vlines(range(1, width), 0, height, color=LIGHT, linewidth=0.3, zorder=0.5)
