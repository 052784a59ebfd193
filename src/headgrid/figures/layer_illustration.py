"""ICLR figure 1: what a multi-head self-attention layer computes for one query pixel.

Every head looks from the query pixel q at pixels around a shift of its own, Delta(h); what it finds there goes
through its filter matrix W(h), and the sum over the heads is the output at q: equation 5 with heads for shifts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch
from matplotlib.patheffects import withStroke
from numpy import ndarray

from headgrid.figures.map_grid import LayerMaps, QueryImage, draw_image
from headgrid.figures.panels import TITLE_HEIGHT, frame_only
from headgrid.figures.style import GREY, INK, QUERY, SIGNED, TITLE_SIZE, darker, in_style, map_scale

COLORS_OF_HEADS = ("#332288", "#CC6677", "#117733", "#AA4499")
"""Those of the style that are dark enough for maps, arrows and type."""

Shift = tuple[float, float]


@dataclass(frozen=True)
class ShownHead:
    """A head of the illustration."""

    number: int
    map: Float[ndarray, "y x"]
    """What it looks at from the query pixel."""
    shift: Shift
    """Delta(h): rows and columns from the query pixel, in pixels of the map, to where it looks."""


@in_style
def layer_illustration(
    image: QueryImage, heads: Sequence[ShownHead], query: tuple[int, int], num_heads: int, title: str = ""
) -> Figure:
    """The image with q and the shifts, the heads' maps, their filter matrices, and the sum.

    ``query`` is q on the maps. Of a layer with more heads than are shown, dots stand for the others.
    """
    if not heads or len(heads) > num_heads:
        raise ValueError(f"a layer of {num_heads} heads is shown by 1 to {num_heads} of them, got {len(heads)}")
    if image.query is None:
        raise ValueError("the image needs the query pixel that the maps belong to")
    for head in heads:
        LayerMaps(f"head {head.number}", head.map[None], query)  # checks that q lies on it
    rows, columns = heads[0].map.shape
    tall = 0.62 if rows <= columns else 0.62 * rows / columns
    wide = tall * columns / rows
    image_width = 1.3 * min(1.0, image.pixels.shape[1] / image.pixels.shape[0])
    image_height = image_width * image.pixels.shape[0] / image.pixels.shape[1]
    left = 0.08 + image_width + 0.75  # of the maps
    pitch = tall + 0.2
    height = max(len(heads) * pitch + (0.18 if num_heads > len(heads) else 0) + 0.34, image_height + 0.75)
    width = left + wide + 2.55
    above = TITLE_HEIGHT if title else 0.0
    figure = Figure(figsize=(width, above + height))
    page = figure.add_axes((0, 0, 1, 1))
    page.set(xlim=(0, width), ylim=(height, -above))
    page.axis("off")

    middle = 0.3 + (height - 0.34) / 2
    first = middle - (len(heads) * pitch) / 2
    image_top = middle - image_height / 2
    if title:
        page.text(width / 2, 0.07 - above, title, ha="center", va="top", fontsize=TITLE_SIZE)
    for words, x in (("input X", 0.08 + image_width / 2), ("attention of q", left + wide / 2)):
        page.text(x, 0.06, words, ha="center", va="top")
    page.text(left + wide + 0.72, 0.06, "filter matrices", ha="center", va="top")
    page.text(width - 0.42, 0.06, "output at q", ha="center", va="top")

    picture = _inset(figure, 0.08, above + image_top, image_height, image_width)
    draw_image(picture, image)
    _draw_shifts(picture, image, heads, query)
    sum_at = (left + wide + 1.45, middle)
    for place, (head, color) in enumerate(zip(heads, cycle(COLORS_OF_HEADS), strict=False)):
        top = first + place * pitch
        center = top + 0.14 + tall / 2
        page.text(left, top + 0.12, _name(head), color=darker(color), ha="left", va="bottom", fontsize=6.5)
        panel = _inset(figure, left, above + top + 0.14, tall, wide)
        _draw_tinted(panel, head.map, query, color)
        _arrow(page, (0.08 + image_width + 0.06, middle), (left - 0.06, center), color)
        _arrow(page, (left + wide + 0.06, center), (left + wide + 0.47, center), color)
        _box(page, left + wide + 0.72, center, f"$W^{{({head.number})}}$", color)
        _arrow(page, (left + wide + 0.99, center), _towards(sum_at, (left + wide + 0.99, center), 0.15), color)
    if num_heads > len(heads):
        page.text(left + wide / 2, first + len(heads) * pitch + 0.1, "...", ha="center", va="center", color=GREY)
    page.add_patch(Circle(sum_at, 0.13, facecolor="white", edgecolor=INK, linewidth=0.8))
    page.text(*sum_at, "+", ha="center", va="center", fontsize=9)
    _arrow(page, (sum_at[0] + 0.15, middle), (width - 0.62, middle), INK)
    _draw_output(page, width - 0.42, middle)
    return figure


def _name(head: ShownHead) -> str:
    row, column = ("0" if abs(part) < 0.05 else f"{part:+.1f}".replace("-", "−") for part in head.shift)
    return f"head {head.number}: $\\Delta$ = ({row}, {column})"


def _draw_shifts(axis: Axes, image: QueryImage, heads: Sequence[ShownHead], query: tuple[int, int]) -> None:
    """An arrow from q to where each head looks, as far as the image shows it."""
    assert image.query is not None
    top, left, height, width = image.query
    row, column = top + height / 2, left + width / 2
    rim = [withStroke(linewidth=2.0, foreground="white")]
    for head, color in zip(heads, cycle(COLORS_OF_HEADS), strict=False):
        end = (column + head.shift[1] * width, row + head.shift[0] * height)
        if np.hypot(*head.shift) < 0.5:
            axis.plot(*end, "o", markersize=3, color=color, path_effects=rim)
            continue
        arrow = FancyArrowPatch(
            (column, row), end, arrowstyle="-|>", mutation_scale=6, linewidth=1.0, color=color,
            shrinkA=0, shrinkB=0, path_effects=rim, clip_on=True,
        )  # fmt: skip
        axis.add_patch(arrow)
    axis.annotate(
        "q", (left, top), xytext=(-1, 1), textcoords="offset points", ha="right", va="bottom", fontstyle="italic",
        color=QUERY, path_effects=rim, fontsize=8,
    )  # fmt: skip


def _draw_tinted(axis: Axes, weights: Float[ndarray, "y x"], query: tuple[int, int], color: str) -> None:
    height, width = weights.shape
    signed = float(weights.min()) < 0
    colors = SIGNED if signed else LinearSegmentedColormap.from_list("head", ("white", color))
    axis.imshow(
        weights, cmap=colors, norm=map_scale(float(np.abs(weights).max()), signed), extent=(0, width, height, 0)
    )
    axis.plot(query[1] + 0.5, query[0] + 0.5, "s", color="black", markersize=2.2)
    frame_only(axis)


def _draw_output(page: Axes, x: float, y: float) -> None:
    """A column of channels."""
    for channel in range(5):
        page.add_patch(
            FancyBboxPatch(
                (x - 0.07, y - 0.35 + 0.14 * channel), 0.14, 0.14, boxstyle="square,pad=0",
                facecolor=("#F5F5F5", "#DDDDDD", "#BBBBBB", "#E8E8E8", "#CCCCCC")[channel],
                edgecolor=INK, linewidth=0.5,
            )
        )  # fmt: skip


def _inset(figure: Figure, left: float, top: float, height: float, width: float) -> Axes:
    total_width, total_height = figure.get_size_inches()
    return figure.add_axes(
        (left / total_width, 1 - (top + height) / total_height, width / total_width, height / total_height)
    )


def _box(page: Axes, x: float, y: float, words: str, color: str) -> None:
    page.add_patch(
        FancyBboxPatch(
            (x - 0.23, y - 0.16), 0.46, 0.32, boxstyle="round,pad=0,rounding_size=0.04",
            facecolor="white", edgecolor=color, linewidth=1.0,
        )
    )  # fmt: skip
    page.text(x, y, words, ha="center", va="center", color=INK)


def _towards(end: tuple[float, float], start: tuple[float, float], distance: float) -> tuple[float, float]:
    """The point that far before the end."""
    way = np.subtract(end, start)
    return tuple(np.subtract(end, way / np.hypot(*way) * distance))  # type: ignore[return-value]


def _arrow(page: Axes, start: tuple[float, float], end: tuple[float, float], color: str) -> None:
    page.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=5, linewidth=0.7, color=color, shrinkA=0, shrinkB=0
        )
    )
