"""Accuracy of several models side by side: on images as they are, turned, and under attack (SAN's table, drawn)."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from numpy import ndarray

from headgrid.figures.style import COLORS, GREY, INK, TEXT_WIDTH, in_style

GROUP_WIDTH = 0.8
"""Of the space of a check, what its bars fill."""

INCHES_PER_BAR = 0.28
HEIGHT_OF_NUMBER = 0.06
"""Of the height of the axis, with some room above."""
WIDEST_LABELLED_GROUP = 4
"""With more models than this, there is no room for numbers over the bars."""


@in_style
def robustness_bars(
    models: Sequence[str],
    checks: Sequence[str],
    unchanged: Float[ndarray, "models"],
    accuracies: Float[ndarray, "models checks"],
) -> Figure:
    """A bar for each model and check; the hollow bar around it ends at the model's accuracy without the check.

    Accuracies are shares between 0 and 1. What lies between bar and outline is the drop.
    """
    if accuracies.shape != (len(models), len(checks)) or unchanged.shape != (len(models),) or not len(models):
        raise ValueError(
            f"{len(models)} models and {len(checks)} checks need accuracies of shape "
            f"{(len(models), len(checks))} and {(len(models),)}, got {accuracies.shape} and {unchanged.shape}"
        )
    groups = ["unchanged", *checks]
    heights = np.concatenate([unchanged[:, None], accuracies], axis=1)
    bars_width = INCHES_PER_BAR * heights.size / GROUP_WIDTH + 0.6
    figure = Figure(figsize=(max(TEXT_WIDTH / 2, bars_width), 2.4 + 0.13 * len(models)), layout="constrained")
    axis = figure.subplots()
    highest = min(1.0, 1.12 * max(0.01, heights.max()))
    width = GROUP_WIDTH / len(models)
    for number, model in enumerate(models):
        places = np.arange(len(groups)) + (number - (len(models) - 1) / 2) * width
        color = COLORS[number % len(COLORS)]
        axis.bar(places, heights[number], 0.88 * width, color=color, label=model)
        outline = np.full(len(checks), unchanged[number])
        axis.bar(places[1:], outline, 0.88 * width, fill=False, edgecolor=color, linewidth=0.6)
        if len(models) <= WIDEST_LABELLED_GROUP:
            for place, height in zip(places, heights[number], strict=True):
                # Above the outline where its upper edge would strike the number out.
                end = unchanged[number] if 0 < unchanged[number] - height < HEIGHT_OF_NUMBER * highest else height
                axis.annotate(
                    f"{100 * height:.0f}", (place, end), xytext=(0, 1.5), textcoords="offset points",
                    ha="center", fontsize=5.5, color=INK,
                )  # fmt: skip
    axis.set_xticks(np.arange(len(groups)), [group.replace(" ", "\n") for group in groups])
    axis.tick_params(axis="x", length=0)
    axis.set(ylabel="top-1 accuracy", ylim=(0, highest))
    axis.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axis.grid(axis="y")
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    axis.axvline(0.5, color=GREY, linewidth=0.4, linestyle=(0, (4, 3)))
    figure.legend(loc="outside upper left", ncols=1)
    return figure
