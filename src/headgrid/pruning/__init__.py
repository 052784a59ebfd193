"""Which heads of a model can go, the smaller model without them, and what keeps heads from going astray."""

from headgrid.pruning.content import Content
from headgrid.pruning.criterion import Criterion, HeadJudgement, RankedCriterion
from headgrid.pruning.degeneracy import Degeneracy
from headgrid.pruning.entropy import Entropy
from headgrid.pruning.gradient import Gradient, head_importance
from headgrid.pruning.head_gates import gated_heads
from headgrid.pruning.head_reset import HeadReset
from headgrid.pruning.prunable_layers import PrunableLayer, PrunableModel, prunable_layers
from headgrid.pruning.prune import LayerPruning, Pruning, prune
from headgrid.pruning.redundancy import Redundancy
from headgrid.pruning.remove_heads import remove_heads
from headgrid.pruning.spread_penalty import SpreadPenalty, stretch

__all__ = [
    "Content",
    "Criterion",
    "Degeneracy",
    "Entropy",
    "Gradient",
    "HeadJudgement",
    "HeadReset",
    "LayerPruning",
    "PrunableLayer",
    "PrunableModel",
    "Pruning",
    "RankedCriterion",
    "Redundancy",
    "SpreadPenalty",
    "gated_heads",
    "head_importance",
    "prunable_layers",
    "prune",
    "remove_heads",
    "stretch",
]
