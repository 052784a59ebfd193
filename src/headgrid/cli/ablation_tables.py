"""The tables of ablations, as `headgrid presets --ablations` prints them: published numbers beside ours."""

from dataclasses import asdict, dataclass

import torch

from headgrid.cli.output import print_json, print_table
from headgrid.evaluation.published_flops import published_flops
from headgrid.experiments import ABLATIONS, Ablation, AblationRow
from headgrid.models import SAN, ResNet

COLUMNS = ("name", "network", "variant", "top-1", "top-5", "parameters", "published", "FLOPs", "published")
OWN_COLUMNS = ("name", "network", "variant", "parameters", "FLOPs")
NOTE = """\
Accuracies as published, on ImageNet; compare them within these tables, not with those of the presets.
Parameters and FLOPs of size paper counted in the model itself, FLOPs under the convention of the paper."""


@dataclass(frozen=True)
class Counts:
    """What is counted in the model of a row."""

    num_parameters: int
    flops: int


def print_ablations(as_json: bool) -> None:
    if as_json:
        print_json([_as_json(ablation) for ablation in ABLATIONS.values()])
        return
    for ablation in ABLATIONS.values():
        title = f"{ablation.name}: {ablation.varies} ({ablation.source})"
        print(f"{title}\n")
        is_published = any(row.published is not None for row in ablation.rows)
        cells = [_cells(row) if is_published else _own_cells(row) for row in ablation.rows]
        print_table(COLUMNS if is_published else OWN_COLUMNS, cells)
        print()
    print(NOTE)


def _own_cells(row: AblationRow) -> tuple[str, ...]:
    counts = _count(row)
    return row.name, row.network, row.variant, f"{counts.num_parameters:,}", f"{counts.flops / 1e9:.3f} G"


def _cells(row: AblationRow) -> tuple[str, ...]:
    name, network, variant, num_parameters, flops = _own_cells(row)
    published = row.published
    if published is None:
        return name, network, variant, "-", "-", num_parameters, "-", flops, "-"
    accuracies = (f"{published.top_1:.3f}", f"{published.top_5:.3f}")
    printed_parameters, printed_flops = f"{published.mega_parameters:.1f} M", f"{published.giga_flops:.1f} G"
    return name, network, variant, *accuracies, num_parameters, printed_parameters, flops, printed_flops


def _as_json(ablation: Ablation) -> dict[str, object]:
    return {
        "name": ablation.name,
        "varies": ablation.varies,
        "source": ablation.source,
        "images": ablation.images,
        "rows": [
            {
                "name": row.name,
                "network": row.network,
                "variant": row.variant,
                **asdict(_count(row)),
                "published": None if row.published is None else asdict(row.published),
            }
            for row in ablation.rows
        ],
    }


def _count(row: AblationRow) -> Counts:
    """In the model of size paper, which is built without memory for its weights."""
    with torch.device("meta"):
        model = row.experiment.model.build()
    assert isinstance(model, SAN | ResNet)
    return Counts(sum(parameter.numel() for parameter in model.parameters()), published_flops(model))
