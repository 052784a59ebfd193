"""ICLR figure 2: where the heads of one layer look, at several epochs of the training."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from headgrid.analysis import HeadCenters
from headgrid.figures.centers_panel import LEGEND_WIDTH, Window, draw_centers, explain, shape_of, window_around
from headgrid.figures.panels import Margins, panel_grid
from headgrid.figures.style import in_style


@in_style
def centers_during_training(
    epochs: Mapping[int, HeadCenters], title: str = "", window: Window | None = None
) -> Figure:
    """A panel for each epoch, in the order given; epoch 0 is before the training."""
    if not epochs:
        raise ValueError("there are no epochs to show: give the centres of at least one")
    window = window_around(epochs.values()) if window is None else window
    margins = Margins(top=0.22, bottom=0.25)
    grid = panel_grid(1, len(epochs), shape_of(window), margins, largest=1.6, least_width=LEGEND_WIDTH, title=title)
    for axis, heads in zip(grid.axes[0], epochs.values(), strict=True):
        draw_centers(axis, heads, window)
    grid.name_columns([epoch_name(epoch) for epoch in epochs])
    explain(grid)
    return grid.figure


def epoch_name(epoch: int) -> str:
    return "before training" if epoch == 0 else f"epoch {epoch}"
