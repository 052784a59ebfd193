"""Pruning as in the paper: heads go whose Gaussian has degenerated."""

from collections.abc import Sequence
from dataclasses import dataclass

from headgrid.analysis.degenerate_heads import DegeneracyThresholds, degenerate_heads
from headgrid.pruning.criterion import Batches, Criterion, HeadJudgement
from headgrid.pruning.prunable_layers import PrunableLayer, PrunableModel


@dataclass(frozen=True)
class Degeneracy(DegeneracyThresholds, Criterion):
    """Heads go that look everywhere alike or at a stripe (appendix A.1); needs no images.

    Of hierarchical passes with weights of their own, a head goes if it is degenerate in all of them.
    """

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
        judgements = []
        for layer in layers:
            for head in range(layer.num_heads):
                reasons = [spreads[names[module], head].reason for module in layer.modules]
                reason = None if None in reasons else reasons[0]
                judgements.append(HeadJudgement(layer.name, head, None, reason))
        return tuple(judgements)
