"""Attention laid over the image that was looked at, for any model: one image and all heads, or a grid of images."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy import ndarray

from headgrid.figures.map_grid import LayerMaps, Panels, QueryImage, draw_image, frame_query, map_grid
from headgrid.figures.panels import Margins, frame_only, panel_grid, text_width
from headgrid.figures.style import HEAT, INK, SIGNED_HEAT, TYPE_SIZE, in_style, map_scale

Box = tuple[float, float, float, float]
"""Upper, left, lower and right border on the image, in its pixels."""

MOST_COLUMNS = 13
"""Maps beside an image of a grid."""


@in_style
def overlay(layers: Sequence[LayerMaps], boxes: Sequence[Box], image: QueryImage, title: str = "") -> Figure:
    """Layers are rows, heads are columns: copies of the image in grey, clear where there is no attention.

    ``boxes`` say for each layer where its maps lie on the image; layers that pad their input reach beyond it.
    Query pixels have black frames, for orange is the heat.
    """
    box_of = {layer.name: box for layer, box in zip(layers, boxes, strict=True)}

    def draw(axis: Axes, layer: LayerMaps, place: int, signed: bool) -> None:
        overlaid = OverlaidMap(layer.maps[place], box_of[layer.name], layer.query)
        draw_overlay(axis, image.pixels, overlaid, signed)

    height, width = image.pixels.shape[:2]
    panels = Panels((height, width), draw, HEAT, SIGNED_HEAT)
    return map_grid(layers, replace(image, color=INK), title, panels=panels).figure


@dataclass(frozen=True)
class OverlaidMap:
    """A map, and where it lies on an image."""

    weights: Float[ndarray, "y x"]
    box: Box
    query: tuple[int, int] | None = None
    """Row and column, on the map, of the query pixel that looks; it gets a frame."""

    @property
    def query_on_image(self) -> Box | None:
        if self.query is None:
            return None
        (row, column), (top, left, bottom, right) = self.query, self.box
        height, width = (bottom - top) / self.weights.shape[0], (right - left) / self.weights.shape[1]
        return top + row * height, left + column * width, height, width


@dataclass(frozen=True)
class OverlayRow:
    """One row of a grid of images."""

    name: str
    """What stands to the left of it."""
    image: QueryImage
    maps: Sequence[OverlaidMap]
    """One for each column."""


@in_style
def overlay_grid(rows: Sequence[OverlayRow], columns: Sequence[str], title: str = "") -> Figure:
    """Images are rows: first the image, then its copies in grey with one map each.

    Each map goes from zero to its own largest weight.
    """
    if not rows:
        raise ValueError("there is nothing to lay over an image: give at least one row")
    for row in rows:
        if len(row.maps) != len(columns):
            raise ValueError(f"the row {row.name} has {len(row.maps)} maps for {len(columns)} columns")
    if not 1 <= len(columns) <= MOST_COLUMNS:
        raise ValueError(f"a grid has 1 to {MOST_COLUMNS} columns of maps, got {len(columns)}")
    height, width = rows[0].image.pixels.shape[:2]
    signed = any(float(overlaid.weights.min()) < 0 for row in rows for overlaid in row.maps)
    names = max(text_width(row.name, TYPE_SIZE) for row in rows)
    margins = Margins(left=max(0.3, names + 0.12), right=0.05, top=0.27, bottom=0.05)
    grid = panel_grid(
        len(rows), 1 + len(columns), (height, width), margins, gap=(0.04, 0.04), largest=1.0, title=title
    )
    for axes, row in zip(grid.axes, rows, strict=True):
        draw_image(axes[0], replace(row.image, color=INK))
        for axis, overlaid in zip(axes[1:], row.maps, strict=True):
            draw_overlay(axis, row.image.pixels, overlaid, signed)
    grid.name_rows([row.name for row in rows])
    grid.name_columns(["image", *columns], above=0.04)
    return grid.figure


def draw_overlay(axis: Axes, pixels: Float[ndarray, "h w c"], overlaid: OverlaidMap, signed: bool) -> None:
    """The image in pale grey, the weights over it, the frame of the query pixel."""
    height, width = pixels.shape[:2]
    pale = 0.25 + 0.75 * np.clip(pixels, 0, 1).mean(axis=-1)
    axis.imshow(pale, cmap="gray", vmin=0, vmax=1, extent=(0, width, height, 0))
    top, left, bottom, right = overlaid.box
    axis.imshow(
        overlaid.weights,
        cmap=SIGNED_HEAT if signed else HEAT,
        norm=map_scale(float(np.abs(overlaid.weights).max()), signed),
        extent=(left, right, bottom, top),
    )
    axis.set(xlim=(0, width), ylim=(height, 0))
    frame_only(axis)
    if overlaid.query_on_image is not None:
        frame_query(axis, overlaid.query_on_image, INK)
