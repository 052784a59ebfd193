"""The attention of one query pixel (the paper's figure 5; the report's figures 3 and 4), in all layers.

Layers differ in their grids, so the query is named by its place in the *image*: each layer answers for its query
pixel nearest to that place.
"""

from collections.abc import Iterable

from jaxtyping import Float
from torch import Tensor

from headgrid.analysis.attention_record import AttentionRecord, Placement
from headgrid.analysis.mean_over_images import mean_over_images


def query_attention(record: AttentionRecord, row: int, column: int) -> dict[str, Float[Tensor, "b n y x"]]:
    """What the heads of each layer look at from (row, column) of the images, by the layer's name."""
    height, width = record.image_size
    if not (0 <= row < height and 0 <= column < width):
        raise ValueError(
            f"there is no pixel ({row}, {column}) in images of {height} x {width}: rows go from 0 to "
            f"{height - 1} and columns from 0 to {width - 1}"
        )
    return {layer.name: layer.of_query(*query_at(layer.placement, row, column)) for layer in record}


def mean_query_attention(
    records: Iterable[AttentionRecord], row: int, column: int
) -> dict[str, Float[Tensor, "n y x"]]:
    """The same as a mean over all images of a stream of batches: what is left when the images are averaged out."""
    return mean_over_images(records, lambda record: query_attention(record, row, column))


def query_at(placement: Placement, row: int, column: int) -> tuple[int, int]:
    """The query pixel nearest to a place of the image, on the grid of queries; the first of equally near ones."""
    centers = query_centers(placement)
    nearest = [
        min(range(len(along)), key=lambda index: abs(along[index] - at))
        for along, at in zip(centers, (row, column), strict=True)
    ]
    return nearest[0], nearest[1]


def query_centers(placement: Placement) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Where the middles of the query pixels lie in the image, whose pixel (0, 0) has its middle at (0, 0)."""
    rows, columns = (
        tuple((position - padding + 0.5) * size - 0.5 for position in positions)
        for positions, padding, size in zip(
            (placement.query_rows, placement.query_columns), placement.padding, placement.pixel_size, strict=True
        )
    )
    return rows, columns
