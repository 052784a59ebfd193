"""ICLR figure 5; report, figures 3, 4, 8a, 9 to 17 and 20 to 23: what each head looks at from one query pixel."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from headgrid.figures.map_grid import LayerMaps, QueryImage, map_grid
from headgrid.figures.style import in_style


@in_style
def attention_maps(layers: Sequence[LayerMaps], image: QueryImage | None = None, title: str = "") -> Figure:
    """Layers are rows, heads are columns; the query pixel has a frame, on the image too.

    Averages over a set of images (report, figure 4) are drawn without an image.
    """
    for layer in layers:
        if layer.query is None:
            raise ValueError(f"{layer.name} has no query pixel: attention maps show what one pixel looks at")
    return map_grid(layers, image, title).figure
