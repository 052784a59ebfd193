"""Report, figures 18 and 19: the attention of SAN over its footprint.

Its queries look at the K x K pixels around them, so there is one map of *query* pixels for each position of the
footprint: how much every pixel looks at its neighbour there.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from numpy import ndarray

from headgrid.figures.map_grid import IMAGE_WIDTH, NAMES_WIDTH, QueryImage, draw_map, draw_scale, draw_side_image
from headgrid.figures.panels import Margins, PanelGrid, panel_grid
from headgrid.figures.style import ATTENTION, SIGNED, in_style

MOST_IN_A_ROW = 9
"""Positions of a 3 x 3 footprint, a row for each layer; larger footprints get a figure for each layer."""

SHIFTS_WIDTH = 0.3
"""Inches, for the names of the rows of a square."""


@dataclass(frozen=True)
class FootprintMaps:
    """The weights of one layer, a mean over the groups of channels."""

    name: str
    """What the figure calls the layer."""
    weights: Float[ndarray, "k h w"]
    """For each position of the footprint and each query pixel."""
    shifts: Int[ndarray, "k 2"]
    """Where the positions lie: (rows, columns) from the query, in the footprint's row-major order."""

    @property
    def size(self) -> int:
        """Rows and columns of the footprint."""
        return round(len(self.shifts) ** 0.5)

    @property
    def signed(self) -> bool:
        return float(self.weights.min()) < 0

    @property
    def largest(self) -> float:
        """The end of the scale of all maps of the layer: what a neighbour gets is compared with what others get."""
        return float(np.abs(self.weights).max())


@in_style
def footprint_maps(layers: Sequence[FootprintMaps], image: QueryImage | None = None, title: str = "") -> Figure:
    """A row for each layer, a column for each position of a footprint of at most 3 x 3 pixels."""
    sizes = {layer.size for layer in layers}
    if len(sizes) != 1 or max(sizes) ** 2 > MOST_IN_A_ROW:
        raise ValueError(
            f"a row shows one footprint of at most {MOST_IN_A_ROW} positions, the same in every layer; got "
            f"footprints of sizes {sorted(sizes)}: draw each layer with footprint_square"
        )
    margins = Margins(
        left=NAMES_WIDTH + (0.05 if image is None else 0.05 + IMAGE_WIDTH),
        right=0.42,
        top=0.27,
        bottom=0.06,
    )
    lowest = 0.75 if image is None else max(0.75, IMAGE_WIDTH * image.pixels.shape[0] / image.pixels.shape[1])
    height, width = layers[0].weights.shape[1:]
    grid = panel_grid(
        len(layers), sizes.pop() ** 2, (height, width), margins,
        gap=(0.04, 0.04), largest=1.0, lowest_height=lowest, title=title,
    )  # fmt: skip
    signed = any(layer.signed for layer in layers)
    for axes, layer in zip(grid.axes, layers, strict=True):
        for axis, weights in zip(axes, layer.weights, strict=True):
            draw_map(axis, weights, signed, largest=layer.largest)
    grid.name_rows([layer.name for layer in layers])
    grid.name_columns([_signed(shift) for shift in layers[0].shifts.tolist()], above=0.04)
    grid.text(grid.margins.left - 0.06, grid.margins.top - 0.04, "shift", ha="right", va="bottom")
    if image is not None:
        draw_side_image(grid, image)
    _draw_scale(grid, signed)
    return grid.figure


@in_style
def footprint_square(layer: FootprintMaps, image: QueryImage | None = None, title: str = "") -> Figure:
    """The maps of one layer in the arrangement of its footprint: a map stands where the neighbour lies."""
    size = layer.size
    margins = Margins(
        left=SHIFTS_WIDTH + (0.05 if image is None else 0.05 + IMAGE_WIDTH), right=0.42, top=0.22, bottom=0.05
    )
    shape = layer.weights.shape[1:]
    lowest = 0.0 if image is None else IMAGE_WIDTH * image.pixels.shape[0] / image.pixels.shape[1]
    grid = panel_grid(
        size, size, (shape[0], shape[1]), margins,
        gap=(0.03, 0.03), width=4.5, largest=0.8, lowest_height=lowest, title=title,
    )  # fmt: skip
    for axis, weights in zip(grid.axes.flat, layer.weights, strict=True):
        draw_map(axis, weights, layer.signed, largest=layer.largest)
    squares = layer.shifts.reshape(size, size, 2)
    grid.name_rows([_signed([row]) for row in squares[:, 0, 0].tolist()])
    grid.name_columns([_signed([column]) for column in squares[0, :, 1].tolist()], above=0.04)
    if image is not None:
        draw_side_image(grid, image, SHIFTS_WIDTH)
    _draw_scale(grid, layer.signed)
    return grid.figure


def _draw_scale(grid: PanelGrid, signed: bool) -> None:
    draw_scale(grid, signed, "weight, max of layer", SIGNED if signed else ATTENTION)


def _signed(shift: list[int]) -> str:
    return ", ".join("0" if part == 0 else f"{part:+d}".replace("-", "−") for part in shift)
