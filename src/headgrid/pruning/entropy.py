"""Pruning by entropy: heads go that look everywhere alike."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from headgrid.analysis.measures import LayerMeasures
from headgrid.pruning.criterion import Batches, Measured, RankedCriterion
from headgrid.pruning.measured import mean_over_passes
from headgrid.pruning.prunable_layers import PrunableLayer, PrunableModel


@dataclass(frozen=True)
class Entropy(RankedCriterion):
    """Heads go that look everywhere alike: the mean entropy of their weights as a share of the largest there is,
    which uniform attention has."""

    threshold: float = 0.99
    """Heads with this share of the largest entropy or more go."""

    def measure(
        self, model: PrunableModel, layers: Sequence[PrunableLayer], batches: Batches
    ) -> tuple[Measured, ...]:
        return mean_over_passes(model, layers, batches, relative_entropies)

    def weakness(self, value: float) -> float:
        return value

    def in_words(self, value: float) -> str:
        return f"looks everywhere: {value:.3f} of the largest entropy"


def relative_entropies(layer: LayerMeasures) -> list[float]:
    """The entropy of each head, divided by that of uniform attention on the same map."""
    largest = math.log(layer.grid[0] * layer.grid[1])
    return [head.entropy / largest if largest else 0.0 for head in layer.heads]
