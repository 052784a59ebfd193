"""What figures show of a model's attention on one image: small arrays, so that the maps can be let go."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from jaxtyping import Float
from numpy import ndarray
from torch import nn

from headgrid.analysis import LayerAttention, Placement, record_attention
from headgrid.analysis.average_attention import average_attention
from headgrid.analysis.query_attention import query_at
from headgrid.axes import Images
from headgrid.figures.map_grid import QueryImage
from headgrid.figures.overlay import Box


@dataclass(frozen=True)
class LayerView:
    """One layer on one image."""

    module: str
    """The layer's name in the model."""
    name: str
    """The layer's name in figures: layer 1, layer 2..."""
    placement: Placement
    query: tuple[int, int]
    """The query pixel among the layer's queries."""
    of_query: Float[ndarray, "n y x"]
    received: Float[ndarray, "n y x"]
    of_class_token: Float[ndarray, "n y x"] | None

    @property
    def query_on_keys(self) -> tuple[int, int]:
        """The query pixel on the grid of the keys, which the maps have."""
        row, column = self.query
        return self.placement.query_rows[row], self.placement.query_columns[column]

    def image(self, pixels: Float[ndarray, "h w c"]) -> QueryImage:
        """The image with the query pixel: a patch where the layer sees patches."""
        (row, column), (above, before) = self.query_on_keys, self.placement.padding
        height, width = self.placement.pixel_size
        return QueryImage(pixels, ((row - above) * height, (column - before) * width, height, width))

    @property
    def box(self) -> Box:
        """Where the maps lie on the image."""
        (above, before), (height, width) = self.placement.padding, self.placement.pixel_size
        top, left = -above * height, -before * width
        return top, left, top + self.placement.keys[0] * height, left + self.placement.keys[1] * width


def views_of(network: nn.Module, images: Images, query: tuple[int, int]) -> list[LayerView]:
    """The views of the layers on an image; ``query`` is a pixel of it, and in each layer the nearest one looks."""
    record = record_attention(network, images)
    numbers = _numbers(list(record.layers), list(record.left_out))
    return [_view(layer, numbers[layer.name], query) for layer in record]


def _view(layer: LayerAttention, number: int, query: tuple[int, int]) -> LayerView:
    at = query_at(layer.placement, *query)
    tokens = layer.tokens
    return LayerView(
        module=layer.name,
        name=f"layer {number + 1}",
        placement=layer.placement,
        query=at,
        of_query=layer.of_query(*at)[0].float().cpu().numpy(),
        received=average_attention(layer).received[0].float().cpu().numpy(),
        of_class_token=None if tokens is None else tokens.to_pixels[0, :, 0].float().cpu().numpy(),
    )


def _numbers(shown: Sequence[str], left_out: Sequence[str]) -> dict[str, int]:
    """Layers count in their order; those of the same kind that are left out (all heads pruned) count too."""
    kinds = {_without_numbers(name) for name in shown}
    alike = [name for name in left_out if _without_numbers(name) in kinds]
    names = sorted([*shown, *alike], key=_by_numbers) if alike else shown
    return {name: number for number, name in enumerate(names)}


def _without_numbers(name: str) -> str:
    return re.sub(r"\d+", "", name)


def _by_numbers(name: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", name)]
