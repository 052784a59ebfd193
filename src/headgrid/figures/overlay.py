"""Attention laid over the image that was looked at, for any model: one image and all heads, or a grid of images."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy import ndarray

from headgrid.figures.map_grid import LayerMaps, Panels, QueryImage, draw_image, frame_query, map_grid
from headgrid.figures.panels import Margins, frame_only, panel_grid
from headgrid.figures.style import HEAT, SIGNED_HEAT, in_style

Box = tuple[float, float, float, float]
"""Upper, left, lower and right border on the image, in its pixels."""

MOST_COLUMNS = 13
"""Maps beside an image of a grid."""


@in_style
def overlay(layers: Sequence[LayerMaps], boxes: Sequence[Box], image: QueryImage, title: str = "") -> Figure:
    """Layers are rows, heads are columns: copies of the image in grey, clear where there is no attention.

    ``boxes`` say for each layer where its maps lie on the image; layers that pad their input reach beyond it.
    """
    box_of = {layer.name: box for layer, box in zip(layers, boxes, strict=True)}

    def draw(axis: Axes, layer: LayerMaps, place: int) -> None:
        draw_overlay(axis, image, layer.maps[place], box_of[layer.name])

    height, width = image.pixels.shape[:2]
    panels = Panels((height, width), draw, HEAT, SIGNED_HEAT)
    return map_grid(layers, image, title, panels=panels).figure


@dataclass(frozen=True)
class OverlayRow:
    """One row of a grid of images."""

    name: str
    """What stands to the left of it."""
    image: QueryImage
    maps: Sequence[Float[ndarray, "_y _x"]]
    """One for each column."""
    boxes: Sequence[Box]
    """Where they lie on the image."""


@in_style
def overlay_grid(rows: Sequence[OverlayRow], columns: Sequence[str], title: str = "") -> Figure:
    """Images are rows: first the image, then its copies in grey with one map each.

    Each map goes from zero to its own largest weight.
    """
    if not rows:
        raise ValueError("there is nothing to lay over an image: give at least one row")
    for row in rows:
        if not len(row.maps) == len(row.boxes) == len(columns):
            raise ValueError(
                f"row {row.name} has {len(row.maps)} maps and {len(row.boxes)} boxes for {len(columns)} columns"
            )
    if not 1 <= len(columns) <= MOST_COLUMNS:
        raise ValueError(f"a grid has 1 to {MOST_COLUMNS} columns of maps, got {len(columns)}")
    height, width = rows[0].image.pixels.shape[:2]
    margins = Margins(left=0.55, right=0.05, top=(0.22 if title else 0.05) + 0.22, bottom=0.05)
    grid = panel_grid(len(rows), 1 + len(columns), (height, width), margins, gap=(0.04, 0.04), largest=1.0)
    for axes, row in zip(grid.axes, rows, strict=True):
        draw_image(axes[0], row.image)
        for axis, weights, box in zip(axes[1:], row.maps, row.boxes, strict=True):
            draw_overlay(axis, row.image, weights, box)
    grid.name_rows([row.name for row in rows])
    grid.name_columns(["image", *columns], above=0.04)
    grid.set_title(title)
    return grid.figure


def draw_overlay(axis: Axes, image: QueryImage, weights: Float[ndarray, "y x"], box: Box) -> None:
    """The image in pale grey, the weights over it, the frame of the query pixel."""
    height, width = image.pixels.shape[:2]
    pale = 0.25 + 0.75 * np.clip(image.pixels, 0, 1).mean(axis=-1)
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
    if image.query is not None:
        frame_query(axis, image)
