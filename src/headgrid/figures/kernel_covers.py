"""The best assignment of a layer's heads to the elements of a kernel, as in Lemma 1: all dark for a convolution."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from headgrid.figures.layer_panels import FROM_DARK, layer_panels
from headgrid.figures.panels import frame_only
from headgrid.figures.style import ATTENTION, INK, in_style

LARGEST_WITH_NUMBERS = 5
"""Elements of larger kernels are too small for words."""


@dataclass(frozen=True)
class ShownCover:
    """The kernel of one layer, its elements in row-major order."""

    name: str
    """What the figure calls the layer."""
    kernel_size: int
    heads: Sequence[int]
    """The head of each element."""
    masses: Sequence[float]
    """How much of its attention it puts there."""

    def __post_init__(self) -> None:
        elements = self.kernel_size**2
        if (len(self.heads), len(self.masses)) != (elements, elements):
            raise ValueError(
                f"a kernel of {self.kernel_size} x {self.kernel_size} has {elements} elements, {self.name} has "
                f"{len(self.heads)} heads and {len(self.masses)} masses for them"
            )


@in_style
def kernel_covers(layers: Sequence[ShownCover], title: str = "") -> Figure:
    """In every element the number of its head and the share of the attention that this head puts there."""
    under = [f"mean {100 * sum(layer.masses) / len(layer.masses):.0f} %" for layer in layers]
    grid = layer_panels([layer.name for layer in layers], "share on the head's shift", title, under)
    for axis, layer in zip(grid.axes.flat, layers, strict=False):
        size = layer.kernel_size
        axis.imshow(
            np.reshape(layer.masses, (size, size)), cmap=ATTENTION, vmin=0, vmax=1, extent=(0, size, size, 0)
        )
        frame_only(axis)
        if size > LARGEST_WITH_NUMBERS:
            continue
        for element, (head, mass) in enumerate(zip(layer.heads, layer.masses, strict=True)):
            row, column = divmod(element, size)
            axis.text(
                column + 0.5, row + 0.5, f"head {head}\n{100 * mass:.0f} %", ha="center", va="center",
                fontsize=min(6, 15 / size), color="white" if mass > FROM_DARK else INK,
            )  # fmt: skip
    return grid.figure
