"""Pruning by content: heads go that look at the same places in every image."""

from collections.abc import Sequence
from dataclasses import dataclass

from headgrid.analysis.measures import LayerMeasures
from headgrid.pruning.criterion import Batches, Measured, RankedCriterion
from headgrid.pruning.measured import mean_over_passes
from headgrid.pruning.prunable_layers import PrunableLayer, PrunableModel


@dataclass(frozen=True)
class Content(RankedCriterion):
    """Heads go that do not look at the image: the variance of their weights between images, as a share of their
    mean square."""

    threshold: float = 0.01
    """Heads with this content dependence or less go."""

    def measure(
        self, model: PrunableModel, layers: Sequence[PrunableLayer], batches: Batches
    ) -> tuple[Measured, ...]:
        measured = mean_over_passes(model, layers, batches, content_variances)
        if all(head.value == 0 for head in measured):
            raise ValueError(
                "the attention of this model depends on positions alone, so that content cannot tell its heads "
                "apart: judge them by degeneracy, entropy, gradient or redundancy"
            )
        return measured

    def weakness(self, value: float) -> float:
        return -value

    def in_words(self, value: float) -> str:
        return f"does not look at the image: content dependence {value:.2g}"


def content_variances(layer: LayerMeasures) -> list[float]:
    values = []
    for head in layer.heads:
        if head.content_variance is None:
            raise ValueError("whether a head depends on the image shows from two images on: one was given")
        values.append(head.content_variance)
    return values
