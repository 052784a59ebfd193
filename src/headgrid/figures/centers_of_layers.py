"""ICLR figures 3 and 8: where the heads of every layer look."""

from collections.abc import Mapping

from jaxtyping import Float
from matplotlib.figure import Figure
from numpy import ndarray

from headgrid.analysis import HeadCenters
from headgrid.figures.centers_panel import LEGEND_WIDTH, Window, draw_centers, explain, shape_of, window_around
from headgrid.figures.panels import Margins, panel_grid
from headgrid.figures.style import in_style

MOST_COLUMNS = 6
"""Layers side by side; further ones stand below."""


@in_style
def centers_of_layers(
    layers: Mapping[str, HeadCenters],
    title: str = "",
    window: Window | None = None,
    trails: Mapping[str, Float[ndarray, "epochs n 2"]] | None = None,
    least_width: float = LEGEND_WIDTH,
) -> Figure:
    """A panel for each layer, with its name; ``trails``, by these names, are the ways that the centres came."""
    if not layers:
        raise ValueError("there are no layers to show: give the centres of at least one")
    window = window_around(layers.values()) if window is None else window
    num_rows = -(-len(layers) // MOST_COLUMNS)
    num_columns = -(-len(layers) // num_rows)
    margins = Margins(top=0.22, bottom=0.25)
    grid = panel_grid(
        num_rows,
        num_columns,
        shape_of(window),
        margins,
        gap=(0.22, 0.05),
        largest=1.6,
        least_width=least_width,
        title=title,
    )
    for number, axis in enumerate(grid.axes.flat):
        if number >= len(layers):
            axis.set_visible(False)
    for number, ((name, heads), axis) in enumerate(zip(layers.items(), grid.axes.flat, strict=False)):
        draw_centers(axis, heads, window, trails=None if trails is None else trails[name])
        row, column = divmod(number, num_columns)
        middle = grid.left(column) + grid.panel_size[1] / 2
        grid.text(middle, grid.top(row) - 0.05, name, ha="center", va="bottom")
    explain(grid)
    return grid.figure
