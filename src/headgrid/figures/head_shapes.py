"""How wide and how thin the Gaussians of quadratic heads are, and where the paper calls them degenerate."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from numpy import ndarray

from headgrid.figures.style import COLORS, GREY, LIGHT, TEXT_WIDTH, head_marker, in_style

LARGEST_RATIO = 1e12
"""Of eigenvalues: heads whose ratio is larger, or infinite, stand here."""


@in_style
def head_shapes(
    layers: Mapping[str, Float[ndarray, "_ 2"]], eigenvalue: float, condition_number: float, title: str = ""
) -> Figure:
    """A dot for each head: the larger eigenvalue of its inverse covariance, and its ratio to the smaller.

    ``layers`` has the eigenvalues, the larger first. The grey region is that of degenerate heads: below it
    everything is looked at alike, on its right side only a stripe.
    """
    if not any(map(len, layers.values())):
        raise ValueError("there are no Gaussian heads to show: give the eigenvalues of at least one")
    figure = Figure(figsize=(0.75 * TEXT_WIDTH, 2.3), layout="constrained")
    axis = figure.subplots()
    largest, ratios = {}, {}
    for number, (name, eigenvalues) in enumerate(layers.items()):
        smaller = np.maximum(eigenvalues[:, 1], eigenvalues[:, 0] / LARGEST_RATIO)
        largest[name], ratios[name] = eigenvalues[:, 0], eigenvalues[:, 0] / np.maximum(smaller, 1e-300)
        axis.plot(
            ratios[name],
            largest[name],
            head_marker(9 * (number // len(COLORS))),
            color=COLORS[number % len(COLORS)],
            markersize=4,
            markeredgecolor="white",
            markeredgewidth=0.3,
            linestyle="none",
            label=name,
        )
    every_ratio, every_size = np.concatenate(list(ratios.values())), np.concatenate(list(largest.values()))
    right = 10 * max(condition_number, float(every_ratio.max()))
    bottom, top = min(eigenvalue, float(every_size.min())) / 10, 10 * max(1.0, float(every_size.max()))
    grey = {"color": LIGHT, "linewidth": 0, "zorder": 0}
    axis.fill_between([0.5, right], bottom, eigenvalue, **grey)
    axis.fill_betweenx([eigenvalue, top], condition_number, right, **grey)
    axis.annotate(
        "looks everywhere", (1, eigenvalue), xytext=(0, -3), textcoords="offset points", va="top", color=GREY
    )
    axis.annotate(
        "looks at a stripe", (condition_number, top), xytext=(3, -3), textcoords="offset points",
        va="top", rotation=-90, color=GREY,
    )  # fmt: skip
    axis.set(
        xscale="log", yscale="log", xlim=(0.5, right), ylim=(bottom, top),
        xlabel="condition number", ylabel="larger eigenvalue (1 / pixels²)",
    )  # fmt: skip
    axis.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper")
    if title:
        figure.suptitle(title)
    return figure
