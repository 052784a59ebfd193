"""A row of attention maps for each layer, one map for each head: what many figures of the report are made of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, Normalize
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from numpy import ndarray

from headgrid.figures.panels import Margins, PanelGrid, frame_only, panel_grid
from headgrid.figures.style import ATTENTION, GREY, INK, QUERY, SIGNED, map_scale

MOST_COLUMNS = 16
"""Maps side by side; a layer with more heads goes on in the next line."""

IMAGE_WIDTH, NAMES_WIDTH = 0.85, 0.5
"""Inches, to the left of the maps."""

NUMBERS_HEIGHT = 0.11
"""Inches, for the numbers over maps of sorted heads."""


Pixel = tuple[int, int]
"""Row and column."""


@dataclass(frozen=True)
class LayerMaps:
    """One map for each head of a layer."""

    name: str
    """What the figure calls the layer."""
    maps: Float[ndarray, "n y x"]
    """In the order in which they are shown."""
    query: Pixel | None = None
    """The query pixel that looks, on the maps; it gets a frame."""
    heads: tuple[int, ...] | None = None
    """The heads' numbers where they are not 0, 1, 2...: heads sorted by similarity."""

    def __post_init__(self) -> None:
        if self.heads is not None and sorted(self.heads) != list(range(len(self.maps))):
            raise ValueError(f"{self.name} has {len(self.maps)} maps; the heads {self.heads} do not name each once")
        if self.query is not None:
            (row, column), (height, width) = self.query, self.maps.shape[1:]
            if not (0 <= row < height and 0 <= column < width):
                raise ValueError(
                    f"the query pixel ({row}, {column}) is outside of the maps of {self.name}, {height} x {width}"
                )


@dataclass(frozen=True)
class QueryImage:
    """The image that the maps belong to, shown beside them."""

    pixels: Float[ndarray, "h w c"]
    """Red, green and blue (or grey alone) between 0 and 1."""
    query: tuple[float, float, float, float] | None = None
    """The query pixel on the image: its upper and left border, its height and width, in pixels of the image."""
    color: str = QUERY
    """The colour of its frame."""


@dataclass(frozen=True)
class Panels:
    """How the map of one head is drawn: by itself, or over the image."""

    shape: tuple[int, int]
    """Rows and columns of what a panel shows."""
    draw: Callable[[Axes, LayerMaps, int, bool], None]
    """Draws a map of a layer, by its place among the layer's maps; whether any map of the figure is signed."""
    colors: Colormap
    signed_colors: Colormap


def map_grid(
    layers: Sequence[LayerMaps],
    image: QueryImage | None,
    title: str,
    what: str = "attention weight",
    panels: Panels | None = None,
) -> PanelGrid:
    """The maps, each from zero to its own largest weight; to the left the image, to the right the scale."""
    if not layers or not any(len(layer.maps) for layer in layers):
        raise ValueError("there are no attention maps to show: give at least one layer with a head")
    lines = [line for layer in layers for line in _lines(layer)]
    num_columns = max(len(heads) for _, heads in lines)
    if panels is None:
        shape = next(layer.maps.shape[1:] for layer in layers if len(layer.maps))
        panels = Panels(shape, _draw_alone, ATTENTION, SIGNED)  # type: ignore[arg-type]
    signed = any(len(layer.maps) and float(layer.maps.min()) < 0 for layer in layers)
    sorted_heads = any(layer.heads is not None for layer in layers)
    margins = Margins(
        left=NAMES_WIDTH + (0.05 if image is None else 0.05 + IMAGE_WIDTH),
        right=0.42,
        top=NUMBERS_HEIGHT + 0.05 if sorted_heads else 0.27,
        bottom=0.06,
    )
    lowest = (
        0.75 if image is None else max(0.75, 0.22 + IMAGE_WIDTH * image.pixels.shape[0] / image.pixels.shape[1])
    )
    grid = panel_grid(
        len(lines), num_columns, panels.shape, margins,
        gap=(NUMBERS_HEIGHT if sorted_heads else 0.04, 0.04), largest=1.0, lowest_height=lowest, title=title,
    )  # fmt: skip
    for axes, (layer, heads) in zip(grid.axes, lines, strict=True):
        for axis in axes[len(heads) :]:
            axis.set_visible(False)
        if not heads:
            axes[0].set_visible(True)
            axes[0].axis("off")
            axes[0].text(0, 0.5, "no heads", transform=axes[0].transAxes, va="center", color=GREY)
        for axis, place in zip(axes, heads, strict=False):
            panels.draw(axis, layer, place, signed)
            if sorted_heads:
                _number(axis, place if layer.heads is None else layer.heads[place])
    grid.name_rows([_name(layer, heads, sorted_heads) for layer, heads in lines])
    if not sorted_heads:
        grid.name_columns([str(head) for head in range(num_columns)], above=0.04)
        grid.text(grid.margins.left - 0.06, grid.margins.top - 0.04, "head", ha="right", va="bottom")
    if image is not None:
        draw_side_image(grid, replace(image, color=INK) if signed else image)
    draw_scale(grid, signed, what, panels.signed_colors if signed else panels.colors)
    return grid


def _draw_alone(axis: Axes, layer: LayerMaps, place: int, signed: bool) -> None:
    draw_map(axis, layer.maps[place], signed, layer.query)


def draw_map(
    axis: Axes,
    weights: Float[ndarray, "y x"],
    signed: bool,
    query: Pixel | None = None,
    largest: float | None = None,
) -> None:
    """One map and the frame of the query pixel, on a scale of its own unless ``largest`` gives the end of it."""
    height, width = weights.shape
    scale = map_scale(float(np.abs(weights).max()) if largest is None else largest, signed)
    colors = SIGNED if signed else ATTENTION
    axis.imshow(weights, cmap=colors, norm=scale, extent=(0, width, height, 0), aspect="equal")
    frame_only(axis)
    if query is not None:
        frame_query(axis, (float(query[0]), float(query[1]), 1.0, 1.0), INK if signed else QUERY, rim=0.0)


def draw_image(axis: Axes, image: QueryImage) -> None:
    """The image, and the frame of the query pixel."""
    height, width = image.pixels.shape[:2]
    axis.imshow(np.clip(image.pixels, 0, 1).squeeze(), cmap="gray", vmin=0, vmax=1, extent=(0, width, height, 0))
    frame_only(axis)
    if image.query is not None:
        frame_query(axis, image.query, image.color)


def frame_query(axis: Axes, query: tuple[float, float, float, float], color: str, rim: float = 0.5) -> None:
    """A frame around the pixel, not on it, so that the pixel is seen; a white rim tells it from any image.

    Lines are thinner where the pixel is small.
    """
    top, left, height, width = query
    figure = axis.figure
    assert figure is not None
    inches = axis.get_position().width * figure.get_size_inches()[0]  # type: ignore[union-attr]
    point = abs(np.subtract(*axis.get_xlim())) / (72 * inches)  # in units of the axes
    line = float(np.clip(0.3 * width / point, 0.35, 0.9))
    out = 0.5 * line * point
    effects = [withStroke(linewidth=line * (1 + 2 * rim), foreground="white")] if rim else []
    axis.add_patch(
        Rectangle(
            (left - out, top - out), width + 2 * out, height + 2 * out,
            fill=False, edgecolor=color, linewidth=line, path_effects=effects, joinstyle="miter",
        )
    )  # fmt: skip


def _lines(layer: LayerMaps) -> list[tuple[LayerMaps, range]]:
    num_heads = len(layer.maps)
    starts = range(0, max(num_heads, 1), MOST_COLUMNS)
    return [(layer, range(start, min(start + MOST_COLUMNS, num_heads))) for start in starts]


def _name(layer: LayerMaps, heads: range, sorted_heads: bool) -> str:
    """What stands before a line: the layer, and what to add to the columns' numbers where a layer goes on."""
    if not heads or heads[0] == 0:
        return layer.name
    return "" if sorted_heads else f"+ {heads[0]}"


def _number(axis: Axes, head: int) -> None:
    """The number of a head over its map, as small as the gap between the rows wants it."""
    axis.annotate(
        str(head), (0.5, 1), xycoords="axes fraction", xytext=(0, 1), textcoords="offset points",
        ha="center", va="bottom", fontsize=5,
    )  # fmt: skip


def draw_side_image(grid: PanelGrid, image: QueryImage, names_width: float = NAMES_WIDTH) -> None:
    """The image to the left of the rows' names."""
    height, columns = image.pixels.shape[:2]
    tall, left = IMAGE_WIDTH * height / columns, grid.margins.left - names_width - IMAGE_WIDTH
    axis = grid.add_axes(left, grid.margins.top, tall, IMAGE_WIDTH)
    draw_image(axis, image)
    if image.query is not None:
        below = grid.margins.top + tall + 0.03
        words = "query pixel"
        grid.text(left + IMAGE_WIDTH / 2, below, words, ha="center", va="top", fontsize=6, color=image.color)


def draw_scale(
    grid: PanelGrid, signed: bool, what: str, colors: Colormap, ends: tuple[str, str] | None = None
) -> None:
    """The colour bar to the right of the panels; every map has its own largest weight unless ``ends`` are named."""
    height = min(1.2, grid.size[0] - grid.margins.top - grid.margins.bottom)
    right = grid.size[1] - grid.margins.right
    axis = grid.add_axes(right + 0.07, grid.margins.top, height, 0.06)
    scale = ScalarMappable(Normalize(-1 if signed else 0, 1), colors)
    lowest, highest = ends or ("−max" if signed else "0", "max")
    bar = grid.figure.colorbar(scale, cax=axis, ticks=[-1, 0, 1] if signed else [0, 1])
    bar.ax.set_yticklabels([lowest, "0", highest] if signed else [lowest, highest])
    bar.outline.set(edgecolor=GREY, linewidth=0.4)  # type: ignore[operator]
    bar.ax.tick_params(length=1.5, pad=1)
    middle = grid.margins.top + height / 2
    grid.text(right + 0.39, middle, what, ha="right", va="center", rotation=90, fontsize=6)
