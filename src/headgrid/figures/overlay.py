"""Attention laid over the image that was looked at, for any model: one image, or a grid of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy import ndarray

from headgrid.figures.map_grid import MOST_COLUMNS, QueryImage, draw_image
from headgrid.figures.panels import Margins, frame_only, panel_grid
from headgrid.figures.style import HEAT, SIGNED_HEAT, in_style

Box = tuple[float, float, float, float]
"""Upper, left, lower and right border on the image, in its pixels."""


@dataclass(frozen=True)
class OverlayRow:
    """One row of the figure: an image, and the maps that are laid over copies of it."""

    name: str
    """What stands to the left of the row."""
    image: QueryImage
    """The image, and the query pixel on it."""
    maps: Float[ndarray, "n y x"]
    """One map for each column."""
    box: Box
    """Where the maps lie on the image; layers that pad their input reach beyond it."""


@in_style
def overlay(rows: Sequence[OverlayRow], columns: Sequence[str], title: str = "") -> Figure:
    """The image first, then its copies in grey with one map each, clear where there is no attention.

    Each map goes from zero to its own largest weight.
    """
    if not rows:
        raise ValueError("there is nothing to lay over an image: give at least one row")
    for row in rows:
        if len(row.maps) > len(columns):
            raise ValueError(f"{row.name} has {len(row.maps)} maps and the figure {len(columns)} columns")
    if len(columns) > MOST_COLUMNS:
        raise ValueError(f"{len(columns)} maps side by side are too many to see: at most {MOST_COLUMNS}")
    height, width = rows[0].image.pixels.shape[:2]
    margins = Margins(left=0.55, right=0.05, top=(0.22 if title else 0.05) + 0.22, bottom=0.05)
    grid = panel_grid(len(rows), 1 + len(columns), (height, width), margins, gap=(0.04, 0.04), largest=1.2)
    for axes, row in zip(grid.axes, rows, strict=True):
        draw_image(axes[0], row.image)
        for axis, weights in zip(axes[1:], row.maps, strict=False):
            draw_overlay(axis, row.image.pixels, weights, row.box)
        for axis in axes[1 + len(row.maps) :]:
            axis.set_visible(False)
    grid.name_rows([row.name for row in rows])
    grid.name_columns(["image", *columns], above=0.04)
    grid.set_title(title)
    return grid.figure


def draw_overlay(axis: Axes, pixels: Float[ndarray, "h w c"], weights: Float[ndarray, "y x"], box: Box) -> None:
    """The image in pale grey, the weights over it."""
    height, width = pixels.shape[:2]
    pale = 0.25 + 0.75 * np.clip(pixels, 0, 1).mean(axis=-1)
    axis.imshow(pale, cmap="gray", vmin=0, vmax=1, extent=(0, width, height, 0))
    largest = max(float(np.abs(weights).max()), 1e-12)
    signed = float(weights.min()) < 0
    top, left, bottom, right = box
    axis.imshow(
        weights,
        cmap=SIGNED_HEAT if signed else HEAT,
        norm=Normalize(-largest if signed else 0, largest),
        extent=(left, right, bottom, top),
    )
    axis.set(xlim=(0, width), ylim=(height, 0))
    frame_only(axis)
