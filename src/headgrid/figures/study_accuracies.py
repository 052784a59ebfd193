"""Accuracies of the rows of a study: a dot for each run, a bar for the mean of a row, group by group."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from headgrid.figures.style import COLORS, GREY, TEXT_WIDTH, darker, in_style

INCHES_PER_ROW = 0.19
INCHES_PER_GROUP = 0.22


@dataclass(frozen=True)
class AccuracyRow:
    """One row of a study."""

    group: str
    variant: str
    accuracies: Sequence[float]
    """Shares between 0 and 1, one for each seed."""


@in_style
def study_accuracies(rows: Sequence[AccuracyRow], what: str = "test accuracy") -> Figure:
    """Rows from top to bottom, in their order; a variant has the same colour in all groups."""
    shown = [row for row in rows if len(row.accuracies)]
    if not shown:
        raise ValueError("there are no accuracies to show: no run of the study is finished")
    groups = list(dict.fromkeys(row.group for row in shown))
    variants = list(dict.fromkeys(row.variant for row in shown))
    height = INCHES_PER_ROW * len(shown) + INCHES_PER_GROUP * len(groups) + 0.4
    figure = Figure(figsize=(TEXT_WIDTH, height), layout="constrained")
    members = [[row for row in shown if row.group == group] for group in groups]
    axes = figure.subplots(
        len(groups), 1, sharex=True, squeeze=False, height_ratios=[len(m) + 0.5 for m in members]
    )
    for axis, group, of_group in zip(axes[:, 0], groups, members, strict=True):
        for place, row in enumerate(of_group):
            color = COLORS[variants.index(row.variant) % len(COLORS)]
            axis.barh(place, np.mean(row.accuracies), 0.62, color=color, alpha=0.35, linewidth=0)
            axis.plot(row.accuracies, [place] * len(row.accuracies), "o", color=darker(color), markersize=2.6)
            axis.annotate(
                f"{100 * float(np.mean(row.accuracies)):.1f}", (max(row.accuracies), place), xytext=(5, 0),
                textcoords="offset points", va="center", fontsize=6,
            )  # fmt: skip
        axis.set_yticks(range(len(of_group)), [row.variant for row in of_group])
        axis.set_ylim(len(of_group) - 0.4, -0.6)
        axis.set_title(group, loc="left", fontweight="bold")
        axis.tick_params(axis="y", length=0)
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="x", color=GREY, alpha=0.25)
        axis.set_axisbelow(True)
    lowest, highest = (bound(a for row in shown for a in row.accuracies) for bound in (min, max))
    axes[-1, 0].set_xlim(max(0.0, lowest - 0.1), min(1.0, highest + 0.04))
    axes[-1, 0].xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes[-1, 0].set_xlabel(what)
    return figure
