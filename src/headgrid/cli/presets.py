"""`headgrid presets`"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import tyro

from headgrid.cli.ablation_tables import print_ablations
from headgrid.cli.output import print_json, print_table
from headgrid.experiments import PRESETS, Experiment


@dataclass(frozen=True)
class Arguments:
    """List the presets: published models, trained by name with `headgrid train NAME`."""

    ablations: tyro.conf.FlagCreatePairsOff[bool] = False
    """The tables of ablations in place of the presets; their rows are trained by name likewise."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print a JSON list."""


def main(arguments: Sequence[str]) -> int:
    options = tyro.cli(Arguments, args=arguments, prog="headgrid presets")
    if options.ablations:
        print_ablations(options.json)
        return 0
    rows = [
        {
            "name": preset.name,
            "paper": preset.paper,
            "summary": preset.summary,
            "num_parameters": num_parameters(preset.make()),
            "paper_accuracy": preset.accuracy,
            "images": preset.images,
        }
        for preset in PRESETS.values()
    ]
    if options.json:
        print_json(rows)
        return 0
    print_table(
        ("name", "paper", "what it is", "parameters", "paper accuracy", "images"),
        [
            (
                row["name"],
                row["paper"],
                row["summary"],
                f"{row['num_parameters']:,}",
                "-" if row["paper_accuracy"] is None else f"{row['paper_accuracy']:.3f}",
                row["images"],
            )
            for row in rows
        ],
        "Accuracy on held-out images as published; parameters counted in the model itself.\n"
        "More can be trained by name: headgrid presets --ablations",
    )
    return 0


def num_parameters(experiment: Experiment) -> int:
    """Counted in the model, which is built without memory for its weights."""
    with torch.device("meta"):
        model = experiment.model.build()
    return sum(parameter.numel() for parameter in model.parameters())
