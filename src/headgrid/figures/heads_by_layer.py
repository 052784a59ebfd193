"""One number of each head, layer by layer: how the heads of a model differ, and how that changes with depth."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy import ndarray

from headgrid.figures.style import GREY, LIGHT, TEXT_WIDTH, head_color, head_marker, in_style

SPREAD = 0.6
"""Of the distance between two layers, what the heads of one stand apart."""


@dataclass(frozen=True)
class HeadQuantity:
    """A panel: one number of each head of each layer."""

    name: str
    """What stands beside the axis."""
    layers: Sequence[Float[ndarray, "_"]]
    """By layer, from the first on; layers may differ in their number of heads."""
    highest: float | None = None
    """The end of the axis, for shares; the largest number otherwise."""
    marked: float | None = None
    """Where a dashed line is drawn: what uniform attention would have."""


@in_style
def heads_by_layer(quantities: Sequence[HeadQuantity], title: str = "") -> Figure:
    """A dot for each head, in its colour; a grey line is the mean of a layer."""
    if not quantities or not any(map(len, quantities[0].layers)):
        raise ValueError("there are no heads to show: give at least one number of one head")
    figure = Figure(figsize=(TEXT_WIDTH, 1.9), layout="constrained")
    for axis, quantity in zip(figure.subplots(1, len(quantities), squeeze=False)[0], quantities, strict=True):
        for number, values in enumerate(quantity.layers, start=1):
            if not len(values):
                continue
            half = SPREAD / 2
            axis.hlines(float(np.mean(values)), number - half, number + half, color=GREY, linewidth=0.8, zorder=1)
            places = number + SPREAD * ((np.arange(len(values)) + 0.5) / len(values) - 0.5)
            for head, (place, value) in enumerate(zip(places, values, strict=True)):
                axis.plot(
                    place, value, head_marker(head), color=head_color(head), markersize=3,
                    markeredgecolor="white", markeredgewidth=0.2, clip_on=False,
                )  # fmt: skip
        if quantity.marked is not None:
            axis.axhline(quantity.marked, color=GREY, linewidth=0.6, linestyle=(0, (4, 3)))
        axis.set(xlabel="layer", ylabel=quantity.name, xlim=(0.5, len(quantity.layers) + 0.5))
        axis.set_ylim(0, quantity.highest if quantity.highest is None else 1.04 * quantity.highest)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
        axis.grid(axis="y", color=LIGHT)
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
    if title:
        figure.suptitle(title)
    return figure
