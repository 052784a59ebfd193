"""One panel of figures 2, 3, 6 and 8 of the ICLR paper: where the heads of one layer look."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon, Rectangle
from matplotlib.patheffects import withStroke
from numpy import ndarray

from headgrid.analysis import HeadCenters, contour
from headgrid.figures.panels import PanelGrid, frame_only
from headgrid.figures.style import GREY, INK, darker, head_color, head_marker

Window = tuple[int, int]
"""How many rows and columns a panel shows on each side of the query pixel."""

LEGEND_WIDTH = 3.1
"""Inches."""

SHARES: tuple[tuple[float, Any], ...] = ((0.5, "-"), (0.9, (0, (1, 1.6))))
"""The curve that holds half of a head's attention is solid, that of 90 % is dotted."""


def window_around(centers: Iterable[HeadCenters], least: int = 3, most: int = 12) -> Window:
    """So many rows and as many columns that all centres are seen with some room, within limits."""
    shifts = np.concatenate([heads.centers.numpy().ravel() for heads in centers])
    reach = int(np.clip(np.ceil(np.abs(shifts).max(initial=0)) + 2, least, most))
    return reach, reach


def shape_of(window: Window) -> tuple[int, int]:
    """Rows and columns that a panel shows."""
    return 2 * window[0] + 1, 2 * window[1] + 1


def draw_centers(
    axis: Axes,
    heads: HeadCenters,
    window: Window,
    *,
    numbers: bool = False,
    trails: Float[ndarray, "epochs n 2"] | None = None,
) -> None:
    """The query pixel, black, in the middle; for each head its centre, contours and, given, the way it came.

    Axes count pixels from the query, rows downwards. The artists come in this order: query, then for each head the
    curves of 50 % and 90 %.
    """
    rows, columns = window
    axis.set(xlim=(-columns - 0.5, columns + 0.5), ylim=(rows + 0.5, -rows - 0.5), aspect="equal")
    frame_only(axis)
    thin: dict[str, Any] = {"color": "#ECECEC", "linewidth": 0.3, "zorder": 0}
    axis.vlines(np.arange(-columns + 0.5, columns), -rows - 0.5, rows + 0.5, **thin)
    axis.hlines(np.arange(-rows + 0.5, rows), -columns - 0.5, columns + 0.5, **thin)
    axis.add_patch(Rectangle((-0.5, -0.5), 1, 1, color="black", zorder=1))
    size = _dot_size(axis, window)
    for head, (center, precision) in enumerate(zip(heads.centers, heads.inverse_covariances, strict=True)):
        color = head_color(head)
        for share, line in SHARES:
            points = contour(center, precision, share).numpy()[:, ::-1]
            axis.add_patch(Polygon(points, fill=False, edgecolor=color, linestyle=line, linewidth=0.8, zorder=2))
        if trails is not None:
            axis.plot(trails[:, head, 1], trails[:, head, 0], color=color, linewidth=0.6, alpha=0.6, zorder=2)
        row, column = center.tolist()
        edge = 0.3 if size > 3 else 0.15
        axis.plot(
            column,
            row,
            head_marker(head),
            color=color,
            markersize=size,
            markeredgecolor="white",
            markeredgewidth=edge,
        )
        if numbers and abs(row) <= rows and abs(column) <= columns:
            axis.annotate(
                str(head),
                (column, row),
                xytext=(2, 1.5),
                textcoords="offset points",
                fontsize=6,
                color=darker(color),
                path_effects=[withStroke(linewidth=1.4, foreground="white")],
                zorder=4,
            )


def _dot_size(axis: Axes, window: Window) -> float:
    """A dot is a little smaller than a pixel, but never too small to tell its colour."""
    figure = axis.figure
    assert figure is not None
    width = axis.get_position().width * figure.get_size_inches()[0] * 72  # type: ignore[union-attr]
    return float(np.clip(0.8 * width / shape_of(window)[1], 2.8, 4.5))


def explain(grid: PanelGrid, names: Sequence[str] = ("query pixel", "50 %", "90 % of a head's attention")) -> None:
    """The legend below the panels."""
    query, half, most = names
    handles = [
        Line2D([], [], marker="s", color="black", linestyle="none", markersize=4, label=query),
        Line2D([], [], color=INK, linewidth=0.8, linestyle=SHARES[0][1], label=half),
        Line2D([], [], color=GREY, linewidth=0.8, linestyle=SHARES[1][1], label=most),
    ]
    height, width = grid.size
    middle = (grid.margins.left + width - grid.margins.right) / 2
    middle = min(max(middle, LEGEND_WIDTH / 2), width - LEGEND_WIDTH / 2)
    grid.figure.legend(
        handles=handles, loc="lower center", ncols=3, bbox_to_anchor=(middle / width, 0.02 / height), borderpad=0
    )
