"""How much of a head's map depends on what the image shows, rather than on where the query stands."""

import torch
from jaxtyping import Float
from torch import Tensor

from headgrid.analysis.layer_statistics import LayerStatistics


def content_variances(statistics: LayerStatistics) -> Float[Tensor, "n"] | None:
    """Variance of the weights between images as a share of their mean square, over all queries and keys.

    0 for a head that does not look at the image. Heads that look at one pixel, for every image another, reach the
    most that so many images can show, ``1 - 1 / images``. One image shows nothing: then there is no value.
    """
    if statistics.num_images < 2:
        return None
    squares = torch.diagonal(statistics.products)
    return statistics.squared_deviation / squares
