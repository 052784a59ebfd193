"""`prune(model, criterion, batches)`: judges every head, and gives the smaller model with what was found."""

from dataclasses import dataclass

from torch import nn

from headgrid.pruning.criterion import Batches, Criterion, HeadJudgement
from headgrid.pruning.prunable_layers import PrunableModel, prunable_layers
from headgrid.pruning.remove_heads import remove_heads


@dataclass(frozen=True)
class LayerPruning:
    """How many heads a layer had, and which of them went."""

    name: str
    """Of the layer; with a star in the place of a number for all passes of a hierarchical stack."""
    num_before: int
    removed: tuple[int, ...]

    @property
    def num_after(self) -> int:
        return self.num_before - len(self.removed)


@dataclass(frozen=True)
class Pruning:
    """The smaller model, the judgement of every head, and the layers."""

    model: PrunableModel
    judgements: tuple[HeadJudgement, ...]
    layers: tuple[LayerPruning, ...]


def prune(model: nn.Module, criterion: Criterion, batches: Batches | None = None) -> Pruning:
    """A smaller copy of the model; the model itself stays as it is. Criteria that measure need images."""
    layers = prunable_layers(model)
    assert isinstance(model, PrunableModel)
    judgements = criterion.judge(model, layers, batches)
    pruned = tuple(
        LayerPruning(
            layer.name,
            layer.num_heads,
            tuple(each.head for each in judgements if each.layer == layer.name and each.is_removed),
        )
        for layer in layers
    )
    if not any(layer.removed for layer in pruned):
        raise ValueError(
            f"no head goes by {type(criterion).__name__.lower()} ({criterion.why_none_goes(judgements)}): choose "
            f"another threshold, say how many heads go (remove, keep or fraction), or take another criterion"
        )
    removed = {layer.name: layer.removed for layer in pruned}
    return Pruning(remove_heads(model, removed), judgements, pruned)
