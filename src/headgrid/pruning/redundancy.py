"""Pruning by redundancy: of heads that look at the same, one stays."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headgrid.pruning.criterion import Batches, Measured, RankedCriterion
from headgrid.pruning.measured import measured_passes
from headgrid.pruning.prunable_layers import PrunableLayer, PrunableModel


@dataclass(frozen=True)
class Redundancy(RankedCriterion):
    """Heads go that look at what another head of their layer looks at: the cosine between their maps."""

    threshold: float = 0.95
    """Of two heads with this similarity or more one goes."""

    def measure(
        self, model: PrunableModel, layers: Sequence[PrunableLayer], batches: Batches
    ) -> tuple[Measured, ...]:
        return tuple(
            Measured(name, head, value)
            for name, passes in measured_passes(model, layers, batches).items()
            for head, value in enumerate(
                similarity_when_removed(torch.tensor([each.similarity for each in passes]).mean(0))
            )
        )

    def weakness(self, value: float) -> float:
        return value

    def in_words(self, value: float) -> str:
        return f"looks at what another head looks at: similarity {value:.3f}"


def similarity_when_removed(similarity: Float[Tensor, "n n"]) -> list[float]:
    """For each head its similarity to another at the moment when it would go, if heads went one after the other.

    The most similar pair loses the head that is more like the rest. What is left is never more similar than before,
    so that a threshold, or a number of heads, cuts this sequence off anywhere; the last head is like no other.
    """
    num_heads = len(similarity)
    others = similarity.clone().fill_diagonal_(-1.0)
    values = [-1.0] * num_heads
    left = list(range(num_heads))
    while len(left) > 1:
        among = others[left][:, left]
        highest = float(among.max())
        pair = [head for head, row in zip(left, among, strict=True) if float(row.max()) == highest]
        gone = max(pair, key=lambda head: (float(others[head, left].sum()), head))
        values[gone] = highest
        left.remove(gone)
    return values
