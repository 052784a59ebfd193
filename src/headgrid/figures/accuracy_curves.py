"""ICLR figures 4 and 7, report figure 1: accuracy on held-out images over the epochs, of several runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from headgrid.figures.style import COLORS, GREY, LINE_STYLES, in_style

LONGEST_OF_TWO = 24
"""Letters of a name that leave room for another one beside it in the legend."""


@dataclass(frozen=True)
class AccuracyCurve:
    """One run."""

    name: str
    """What the legend calls it."""
    epochs: Sequence[int]
    accuracies: Sequence[float]
    """Shares between 0 and 1, one for each epoch."""
    first_epoch: int = 0
    """Epochs that the run it went on from had behind it: a pruned model's curve starts there (ICLR figure 7)."""


@in_style
def accuracy_curves(
    curves: Sequence[AccuracyCurve], what: str = "validation accuracy", chance: float | None = None
) -> Figure:
    """One line for each run; ``chance`` draws the accuracy of guessing."""
    if not curves:
        raise ValueError("there are no curves to show: give at least one")
    for curve in curves:
        if len(curve.epochs) != len(curve.accuracies) or not curve.epochs:
            raise ValueError(
                f"the curve of {curve.name} has {len(curve.accuracies)} accuracies for {len(curve.epochs)} epochs: "
                f"it needs one for each, and at least one"
            )
    num_columns = 1 if max(len(curve.name) for curve in curves) > LONGEST_OF_TWO else 2
    figure = Figure(figsize=(3.4, 2.1 + 0.14 * -(-len(curves) // num_columns)), layout="constrained")
    axis = figure.subplots()
    for number, curve in enumerate(curves):
        epochs = [curve.first_epoch + epoch for epoch in curve.epochs]
        axis.plot(
            epochs,
            curve.accuracies,
            label=curve.name,
            color=COLORS[number % len(COLORS)],
            linestyle=LINE_STYLES[number // len(COLORS) % len(LINE_STYLES)],
            marker="o" if len(epochs) <= 20 else None,
            markersize=2.5,
        )
    if chance is not None:
        axis.axhline(chance, color=GREY, linewidth=0.6, linestyle=(0, (4, 3)))
        axis.annotate(
            "guessing", (1, chance), xycoords=("axes fraction", "data"), xytext=(-2, 2),
            textcoords="offset points", ha="right", fontsize=6, color=GREY,
        )  # fmt: skip
    axis.set(xlabel="epoch", ylabel=what)
    axis.grid(axis="y")
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axis.margins(y=0.08)
    figure.legend(loc="outside upper left", ncols=num_columns)
    return figure
