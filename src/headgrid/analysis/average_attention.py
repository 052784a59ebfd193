"""Average attention (the report, section 3.2): one map per head for all query pixels together, in its two meanings.

- *Received*: the mean over queries. How much a pixel is looked at, which is what the report's text describes.
- *Given*: the mean over keys. How much a query looks at pixels at all. A softmax over pixels gives the same
  everywhere, one over their number; it is less where a query looks at class tokens, and anything in patchwise
  attention, which has no softmax.

Equation 4 of the report, taken literally, divides by what a pixel receives, so that much looked at pixels get low
values; it is not implemented. Both averages are of the weights as recorded, and of a uniform map both are uniform.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float
from torch import Tensor

from headgrid.analysis.attention_record import AttentionRecord, LayerAttention
from headgrid.analysis.mean_over_images import mean_over_images

Meaning = Literal["received", "given"]


@dataclass(frozen=True)
class AverageAttention:
    """Both averages of a layer, for each image or as a mean over images."""

    received: Float[Tensor, "*images n y x"]
    """Mean over query pixels, for each key pixel."""
    given: Float[Tensor, "*images n h w"]
    """Mean over key pixels, for each query pixel."""


def average_attention(layer: LayerAttention) -> AverageAttention:
    """The averages of each image of a batch."""
    return AverageAttention(received=layer.weights.mean(dim=(2, 3)), given=layer.weights.mean(dim=(4, 5)))


def mean_average_attention(records: Iterable[AttentionRecord]) -> dict[str, AverageAttention]:
    """The mean over all images of a stream of batches, by the layer's name."""
    means = mean_over_images(records, _averages)
    names = dict.fromkeys(name for name, _ in means)
    return {name: AverageAttention(means[name, "received"], means[name, "given"]) for name in names}


def _averages(record: AttentionRecord) -> dict[tuple[str, Meaning], Tensor]:
    averages: dict[tuple[str, Meaning], Tensor] = {}
    for layer in record:
        of_layer = average_attention(layer)
        averages[layer.name, "received"] = of_layer.received
        averages[layer.name, "given"] = of_layer.given
    return averages
