"""What pruning has done to a model: heads, parameters, multiply-adds, accuracy."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from torch import nn

from headgrid.cli.data_argument import final_split
from headgrid.cli.output import print_table
from headgrid.data import Dataset
from headgrid.data.progress import progress
from headgrid.evaluation.accuracy import evaluate
from headgrid.evaluation.complexity import Cost, model_cost
from headgrid.experiments import Model
from headgrid.models import FullyAttentional, ViT
from headgrid.pruning import HeadJudgement, LayerPruning, Pruning

NOTE = """\
Multiply-adds of one image in eval mode, each counted once. FLOPs as the paper counts them: twice the multiply-adds
of linear layers alone."""


@dataclass(frozen=True)
class Measured:
    """A model before pruning, or after."""

    heads_per_layer: tuple[int, ...]
    """A hierarchical model has its one layer as often as it is applied."""
    cost: Cost
    accuracy: float | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class PruneReport:
    """Both, and what was said of every head."""

    before: Measured
    after: Measured
    layers: tuple[LayerPruning, ...]
    judgements: tuple[HeadJudgement, ...]
    images: str | None
    """What the accuracy was measured on."""

    def to_json(self) -> dict[str, Any]:
        return {
            "before": self.before.to_json(),
            "after": self.after.to_json(),
            "images": self.images,
            "layers": [asdict(layer) | {"num_after": layer.num_after} for layer in self.layers],
            "heads": [
                asdict(each) | {"value": each.value if each.value is None or math.isfinite(each.value) else None}
                for each in self.judgements
            ],
        }

    def print(self) -> None:
        print_table(
            ("layer", "heads", "left", "removed"),
            [
                (layer.name, str(layer.num_before), str(layer.num_after), " ".join(map(str, layer.removed)) or "-")
                for layer in self.layers
            ],
        )
        print()
        print_table(
            ("removed", "because it"),
            [(f"{each.layer} {each.head}", each.reason) for each in self.judgements if each.reason is not None],
        )
        print()
        print_table(("", "before", "after", "change"), self._rows(), NOTE)

    def _rows(self) -> list[tuple[str, str, str, str]]:
        before, after = self.before, self.after
        rows = [("heads per layer", _list(before.heads_per_layer), _list(after.heads_per_layer), "")]
        removed = [old - new for old, new in zip(before.heads_per_layer, after.heads_per_layer, strict=True)]
        rows.append(("removed heads per layer", "", _list(removed), ""))
        for name, old, new in (
            ("parameters", before.cost.num_parameters, after.cost.num_parameters),
            ("multiply-adds", before.cost.macs, after.cost.macs),
            ("FLOPs, as the paper", 2 * before.cost.linear_macs, 2 * after.cost.linear_macs),
        ):
            rows.append((name, f"{old:,}", f"{new:,}", f"{new / old - 1:+.1%}"))
        if before.accuracy is not None and after.accuracy is not None:
            points = f"{100 * (after.accuracy - before.accuracy):+.2f} points"
            rows.append((f"accuracy on {self.images}", f"{before.accuracy:.4f}", f"{after.accuracy:.4f}", points))
        return rows


def prune_report(model: Model, pruning: Pruning, data: Dataset | None) -> PruneReport:
    """Compares the models; their accuracy is measured where data are given."""
    images = None if data is None else f"{data.num_images[final_split(data)]} {final_split(data)} images"
    before, after = (_measure(each, data) for each in (model, pruning.model))
    return PruneReport(before, after, pruning.layers, pruning.judgements, images)


def _measure(model: nn.Module, data: Dataset | None) -> Measured:
    assert isinstance(model, FullyAttentional | ViT)
    config = model.config
    cost = model_cost(model, config.image_size, config.num_channels)
    return Measured(config.heads_of_layers, cost, None if data is None else _accuracy(model, data))


def _accuracy(model: nn.Module, data: Dataset) -> float:
    split = final_split(data)
    batches = data.evaluation_batches(split, 500, next(model.parameters()).device)
    with progress(f"evaluating {data.num_images[split]} images", data.num_images[split]) as advance:
        return evaluate(model, batches, data.num_classes, progress=advance).accuracy


def _list(numbers: Any) -> str:
    return f"[{', '.join(map(str, numbers))}]"
