"""Report, figure 2: where the heads of all layers (columns) look at several epochs (rows)."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from headgrid.analysis import HeadCenters
from headgrid.figures.centers_during_training import epoch_name
from headgrid.figures.centers_panel import LEGEND_WIDTH, Window, draw_centers, explain, shape_of, window_around
from headgrid.figures.panels import Margins, panel_grid
from headgrid.figures.style import in_style


@in_style
def centers_over_epochs(
    epochs: Mapping[int, Mapping[str, HeadCenters]], title: str = "", window: Window | None = None
) -> Figure:
    """A row for each epoch, a panel of it for each layer."""
    names = [list(layers) for layers in epochs.values()]
    if not names or not names[0] or any(of_epoch != names[0] for of_epoch in names):
        raise ValueError("every epoch needs the same layers, and at least one")
    if window is None:
        window = window_around(heads for layers in epochs.values() for heads in layers.values())
    margins = Margins(left=0.62, top=0.22, bottom=0.25)
    grid = panel_grid(
        len(epochs), len(names[0]), shape_of(window), margins, largest=1.4, least_width=LEGEND_WIDTH, title=title
    )
    for axes, layers in zip(grid.axes, epochs.values(), strict=True):
        for axis, heads in zip(axes, layers.values(), strict=True):
            draw_centers(axis, heads, window)
    grid.name_rows([epoch_name(epoch).replace(" ", "\n") for epoch in epochs])
    grid.name_columns(names[0])
    explain(grid)
    return grid.figure
