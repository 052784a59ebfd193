"""Report, figures 5, 8b and 9 to 23: how much each pixel of the image is looked at, by all query pixels."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from headgrid.figures.map_grid import LayerMaps, QueryImage, map_grid
from headgrid.figures.style import in_style


@in_style
def average_attention(layers: Sequence[LayerMaps], image: QueryImage | None = None, title: str = "") -> Figure:
    """Layers are rows, heads are columns; no pixel is marked, because every pixel is a query."""
    return map_grid(layers, image, title, what="attention received").figure
