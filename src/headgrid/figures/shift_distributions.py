"""How the attention of each head is distributed over shifts: a head of Lemma 1 has a single dark pixel."""

from collections.abc import Mapping, Sequence

from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from numpy import ndarray

from headgrid.figures.map_grid import LayerMaps, Panels, draw_map, map_grid
from headgrid.figures.style import ATTENTION, INK, SIGNED, in_style


@in_style
def shift_distributions(
    layers: Sequence[LayerMaps], peak_masses: Mapping[str, Float[ndarray, "_"]], title: str = ""
) -> Figure:
    """Layers are rows, heads are columns; the frame is the shift (0, 0), the query itself.

    A map's ``query`` is the place of that shift. ``peak_masses``, by the layers' names and in the order of their
    maps, stand in the corners: the weight on the shift that gets the most.
    """
    for layer in layers:
        if len(peak_masses[layer.name]) != len(layer.maps):
            raise ValueError(
                f"{layer.name} has {len(layer.maps)} heads and {len(peak_masses[layer.name])} peak masses"
            )

    def draw(axis: Axes, layer: LayerMaps, place: int, signed: bool) -> None:
        draw_map(axis, layer.maps[place], signed, layer.query)
        axis.text(
            0.96, 0.04, f"{100 * peak_masses[layer.name][place]:.0f} %", transform=axis.transAxes,
            ha="right", va="bottom", fontsize=5, color=INK,
            path_effects=[withStroke(linewidth=1.2, foreground="white")],
        )  # fmt: skip

    shape = next((layer.maps.shape[1:] for layer in layers if len(layer.maps)), (1, 1))
    panels = Panels((shape[0], shape[1]), draw, ATTENTION, SIGNED)
    return map_grid(layers, None, title, what="share of the attention", panels=panels).figure
