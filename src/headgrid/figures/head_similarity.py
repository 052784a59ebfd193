"""How alike the heads of each layer look: the cosine between the maps of any two."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from numpy import ndarray

from headgrid.figures.layer_panels import layer_panels
from headgrid.figures.panels import frame_only
from headgrid.figures.style import ATTENTION, QUERY, in_style

MOST_NUMBERS = 16
"""Heads whose numbers have room on the diagonal."""


@in_style
def head_similarity(
    layers: Mapping[str, Float[ndarray, "_ _"]], threshold: float | None = None, title: str = ""
) -> Figure:
    """A matrix for each layer, head by head; on the diagonal the heads' numbers, which count rows and columns.

    Pairs more alike than the threshold have a dot: they look at the same.
    """
    grid = layer_panels(list(layers), "cosine", title)
    for axis, cosines in zip(grid.axes.flat, layers.values(), strict=False):
        num_heads = len(cosines)
        axis.imshow(cosines, cmap=ATTENTION, vmin=0, vmax=1, extent=(0, num_heads, num_heads, 0))
        frame_only(axis)
        if num_heads <= MOST_NUMBERS:
            for head in range(num_heads):
                axis.text(head + 0.5, head + 0.5, str(head), ha="center", va="center", fontsize=5, color="white")
        if threshold is not None:
            rows, columns = np.nonzero((cosines > threshold) & ~np.eye(num_heads, dtype=bool))
            size = min(3.5, 30 / num_heads)
            axis.plot(columns + 0.5, rows + 0.5, "o", color=QUERY, markersize=size, markeredgewidth=0)
    return grid.figure
