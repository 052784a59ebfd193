"""A square panel for each layer, side by side, with one scale from zero to one: what heads are to each other."""

from collections.abc import Sequence

from headgrid.figures.map_grid import draw_scale
from headgrid.figures.panels import Margins, PanelGrid, panel_grid
from headgrid.figures.style import ATTENTION

MOST_COLUMNS = 6
"""Layers side by side; further ones stand below."""

FROM_DARK = 0.55
"""Shares from here on are so dark that words on them are white."""


def layer_panels(names: Sequence[str], what: str, title: str, under: Sequence[str] | None = None) -> PanelGrid:
    """Panels with the layers' names above and, given, a line ``under`` each; further axes are hidden."""
    if not names:
        raise ValueError("there are no layers to show: give at least one")
    num_rows = -(-len(names) // MOST_COLUMNS)
    num_columns = -(-len(names) // num_rows)
    below = 0.05 if under is None else 0.2
    grid = panel_grid(
        num_rows, num_columns, (1, 1), Margins(left=0.05, right=0.42, top=0.22, bottom=below),
        gap=(0.22 + below, 0.08), largest=1.25, title=title,
    )  # fmt: skip
    for number, axis in enumerate(grid.axes.flat):
        if number >= len(names):
            axis.set_visible(False)
            continue
        row, column = divmod(number, num_columns)
        middle = grid.left(column) + grid.panel_size[1] / 2
        grid.text(middle, grid.top(row) - 0.05, names[number], ha="center", va="bottom")
        if under is not None:
            lower = grid.top(row) + grid.panel_size[0] + 0.04
            grid.text(middle, lower, under[number], ha="center", va="top", fontsize=6)
    draw_scale(grid, False, what, ATTENTION, ("0", "1"))
    return grid
