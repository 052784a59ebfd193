"""Pruning as in the paper: heads go whose Gaussian has degenerated."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from headgrid.analysis.degenerate_heads import DegeneracyThresholds, HeadSpread, degenerate_heads
from headgrid.pruning.criterion import Batches, Criterion, HeadJudgement
from headgrid.pruning.prunable_layers import PrunableLayer, PrunableModel


@dataclass(frozen=True)
class Degeneracy(DegeneracyThresholds, Criterion):
    """Heads go that look everywhere alike or at a stripe (appendix A.1); needs no images.

    Asked for a number of heads, those go that are nearest to degenerate: see `distance`. Of hierarchical passes
    with weights of their own, the one that is farthest from it speaks for the head.
    """

    def __post_init__(self) -> None:
        DegeneracyThresholds.__post_init__(self)
        Criterion.__post_init__(self)

    def judge(
        self, model: PrunableModel, layers: Sequence[PrunableLayer], batches: Batches | None = None
    ) -> tuple[HeadJudgement, ...]:
        spreads = {(spread.layer, spread.head): spread for spread in degenerate_heads(model, self)}
        if not spreads:
            raise ValueError(
                "only heads whose score is one (generalized) quadratic term and nothing else can degenerate, and "
                "this model has none: judge its heads by entropy, content, gradient or redundancy"
            )
        names = {module: name for name, module in model.named_modules()}
        heads = [
            (layer.name, head, max((spreads[names[module], head] for module in layer.modules), key=self.distance))
            for layer in layers
            for head in range(layer.num_heads)
        ]
        removed = self.weakest([-self.distance(spread) for _, _, spread in heads])
        if removed is None:
            removed = {index for index, (_, _, spread) in enumerate(heads) if spread.degeneracy is not None}
        return tuple(
            HeadJudgement(layer, head, self.distance(spread), _reason(spread) if index in removed else None)
            for index, (layer, head, spread) in enumerate(heads)
        )

    def distance(self, spread: HeadSpread) -> float:
        """How many times the eigenvalues of a head could shrink, or drift apart, before it counts as degenerate.

        Whichever is nearer: the larger eigenvalue by its threshold, or the threshold of the condition number by
        the head's. Below 1 the head is degenerate.
        """
        wide = spread.eigenvalues[0] / self.eigenvalue if self.eigenvalue > 0 else math.inf
        return min(wide, self.condition_number / spread.condition_number)

    def why_none_goes(self, judgements: Sequence[HeadJudgement]) -> str:
        nearest = min(each.value for each in judgements if each.value is not None)
        return (
            f"the nearest is a factor of {nearest:.2g} away from an eigenvalue of {self.eigenvalue:g} or a "
            f"condition number of {self.condition_number:g}"
        )


def _reason(spread: HeadSpread) -> str:
    if spread.reason is not None:
        return spread.reason
    larger, smaller = spread.eigenvalues
    return f"is among the nearest to degenerate: eigenvalues {larger:.2g} and {smaller:.2g}"
