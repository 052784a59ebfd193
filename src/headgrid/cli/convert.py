"""`headgrid convert`"""

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import tyro

from headgrid.cli.data_argument import data_for, some_images
from headgrid.cli.out_file import check_out
from headgrid.cli.output import print_json, print_table
from headgrid.experiments import load, save_model
from headgrid.models import ConvertedConfig, ResNetConfig, ViTConfig
from headgrid.theory import convert_network, convolutions_of
from headgrid.training import set_num_threads


@dataclass(frozen=True)
class Arguments:
    """Turn every convolution of a trained network into attention that computes the same (Theorem 1)."""

    model: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN_OR_CHECKPOINT")]
    """A run folder, one of its checkpoints, or a .safetensors file that headgrid wrote."""
    out: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="OUT")]
    """The .safetensors file to write; `headgrid evaluate` and `headgrid.load` read it."""
    verify_on: Annotated[str | None, tyro.conf.arg(metavar="DATA")] = None
    """Compare both networks on images of cifar10, cifar100, embedded, or a folder."""
    data_dir: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Folder that holds the CIFAR files."""
    num_images: int = 50
    """How many images they are compared on."""
    threads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Threads that torch computes with on the CPU."""
    force: tyro.conf.FlagCreatePairsOff[bool] = False
    """Replace OUT if it exists."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print the report as JSON."""


def main(arguments: Sequence[str]) -> int:
    options = tyro.cli(Arguments, args=arguments, prog="headgrid convert")
    set_num_threads(options.threads)
    check_out(options.out, options.force)
    model = load(options.model)
    config = model.config
    if isinstance(config, ConvertedConfig):
        raise ValueError(f"{options.model} is converted already: its convolutions are attention")
    if not isinstance(config, ResNetConfig | ViTConfig) or not convolutions_of(model):
        raise ValueError(
            f"{options.model} has no convolutions to convert: expected a residual network, or a vision transformer "
            f"that begins with convolutions"
        )
    images = None
    if options.verify_on is not None:
        data = data_for(options.model, model, options.verify_on, options.data_dir)
        images = some_images(data.load(), options.num_images)
    converted = convert_network(model, images, in_place=True)
    model.config = ConvertedConfig(config)  # type: ignore[assignment]
    save_model(model, options.out)
    report = converted.report
    if options.json:
        print_json(asdict(report))
    else:
        print_table(report.columns, report.rows(), "\n".join(report.sentences()))
    print(f"wrote {options.out}", file=sys.stderr)
    return 0
