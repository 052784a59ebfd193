"""`headgrid import`"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from headgrid.cli.out_file import check_out
from headgrid.experiments import save_model
from headgrid.interop.attention_cnn import import_checkpoint


@dataclass(frozen=True)
class Arguments:
    """Turn the weights of another project into a file that `headgrid evaluate` and `headgrid.load` read."""

    project: tyro.conf.Positional[Literal["attention-cnn"]]
    """The project: attention-cnn is the code of Cordonnier et al."""
    checkpoint: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="CHECKPOINT")]
    """Its .checkpoint file, with the config.yaml of its run in the same folder."""
    out: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="OUT")]
    """The .safetensors file to write."""
    force: tyro.conf.FlagCreatePairsOff[bool] = False
    """Replace OUT if it exists."""


def main(arguments: Sequence[str]) -> int:
    options = tyro.cli(Arguments, args=arguments, prog="headgrid import")
    check_out(options.out, options.force)
    model, info = import_checkpoint(options.checkpoint)
    save_model(model, options.out)
    num_parameters = sum(parameter.numel() for parameter in model.parameters())
    facts = [f"{num_parameters:,} parameters"]
    if info.dataset is not None:
        facts.append(f"trained on {info.dataset}")
    if info.test_accuracy is not None:
        facts.append(f"test accuracy {info.test_accuracy} by its own account")
    print(f"wrote {options.out}: {type(model).__name__}, {', '.join(facts)}", file=sys.stderr)
    return 0
