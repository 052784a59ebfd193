"""ICLR figure 6: heads of any Gaussian shape, with the number of each head at its centre."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from headgrid.analysis import HeadCenters
from headgrid.figures.centers_panel import LEGEND_WIDTH, Window, draw_centers, explain, shape_of, window_around
from headgrid.figures.panels import Margins, panel_grid
from headgrid.figures.style import in_style

MOST_COLUMNS = 3
"""Ellipses overlap more than circles and get larger panels: two rows for the papers' six layers."""


@in_style
def ellipses(layers: Mapping[str, HeadCenters], title: str = "", window: Window | None = None) -> Figure:
    """A panel for each layer, with its name. Degenerate heads run out of the panel as stripes, or lie outside."""
    if not layers:
        raise ValueError("there are no layers to show: give the centres and covariances of at least one")
    window = window_around(layers.values(), least=5) if window is None else window
    num_rows = -(-len(layers) // MOST_COLUMNS)
    num_columns = -(-len(layers) // num_rows)
    margins = Margins(top=0.22, bottom=0.25)
    grid = panel_grid(
        num_rows,
        num_columns,
        shape_of(window),
        margins,
        gap=(0.22, 0.08),
        largest=1.9,
        least_width=LEGEND_WIDTH,
        title=title,
    )
    for number, axis in enumerate(grid.axes.flat):
        if number >= len(layers):
            axis.set_visible(False)
    for number, ((name, heads), axis) in enumerate(zip(layers.items(), grid.axes.flat, strict=False)):
        draw_centers(axis, heads, window, numbers=True)
        row, column = divmod(number, num_columns)
        middle = grid.left(column) + grid.panel_size[1] / 2
        grid.text(middle, grid.top(row) - 0.05, name, ha="center", va="bottom")
    explain(grid)
    return grid.figure
