"""`headgrid compile`"""

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import torch
import tyro
from torch import nn

from headgrid.cli.data_argument import data_for, final_split, some_images
from headgrid.cli.out_file import check_out
from headgrid.cli.output import print_json, print_table
from headgrid.data import Dataset
from headgrid.data.progress import progress
from headgrid.evaluation.accuracy import evaluate
from headgrid.experiments import load, save_model
from headgrid.models import CompiledConfig, FullyAttentional, FullyAttentionalConfig
from headgrid.theory import CompilationReport, compile_model
from headgrid.training import set_num_threads

NOTE = """\
Left out: the largest share of a head's attention outside of the footprint. Bound: proved for these images in exact
arithmetic, to which rounding adds. Costs are those of one image: attention -> interior + border."""


@dataclass(frozen=True)
class Arguments:
    """Turn attention whose maps depend on the shift alone into convolutions, with a proved bound for each layer."""

    model: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """A run folder, one of its checkpoints, or a .safetensors file that headgrid wrote."""
    out: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="OUT")]
    """The .safetensors file to write; `headgrid evaluate` and `headgrid.load` read it."""
    tolerance: float = 1e-3
    """The largest share of a head's attention that a convolution may leave out."""
    data: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """cifar10, cifar100, embedded, or a folder of images; by default the data that the run was trained on."""
    data_dir: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Folder that holds the CIFAR files."""
    num_images: int = 20
    """How many images errors, bounds and times are measured on; the accuracy is that of all test images."""
    threads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Threads that torch computes with on the CPU."""
    force: tyro.conf.FlagCreatePairsOff[bool] = False
    """Replace OUT if it exists."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print the report as JSON."""


def main(arguments: Sequence[str]) -> int:
    options = tyro.cli(Arguments, args=arguments, prog="headgrid compile")
    set_num_threads(options.threads)
    check_out(options.out, options.force)
    model = load(options.model)
    config = model.config
    if isinstance(config, CompiledConfig):
        raise ValueError(
            f"{options.model} is compiled already, with the tolerance of that time: compile the original"
        )
    if not isinstance(model, FullyAttentional) or not isinstance(config, FullyAttentionalConfig):
        raise ValueError(f"{options.model} has no attention to compile: expected an attention-only model")
    data = data_for(options.model, model, options.data, options.data_dir).load()
    images = some_images(data, options.num_images)
    compiled = compile_model(model, options.tolerance, images, lambda network: _accuracy(network, data))
    assert isinstance(compiled.model, FullyAttentional)
    compiled.model.config = CompiledConfig.of(config, compiled.report)  # type: ignore[assignment]
    save_model(compiled.model, options.out)
    if options.json:
        print_json(_to_json(compiled.report))
    else:
        note = "\n".join((NOTE, *compiled.report.sentences()))
        print_table(compiled.report.columns, compiled.report.rows(), note)
    print(f"wrote {options.out}", file=sys.stderr)
    return 0


def _accuracy(network: nn.Module, data: Dataset) -> float:
    split = final_split(data)
    batches = data.evaluation_batches(split, 500, torch.device("cpu"))
    with progress(f"evaluating {data.num_images[split]} images", data.num_images[split]) as advance:
        return evaluate(network, batches, data.num_classes, progress=advance).accuracy


def _to_json(report: CompilationReport) -> dict:
    layers = [
        {
            "names": layer.names,
            "num_heads": layer.num_heads,
            "footprint": asdict(layer.certificate.footprint),
            "grid": layer.certificate.grid,
            "missed": layer.certificate.missed.tolist(),
            "num_border_pixels": layer.num_border_pixels,
            "bound": layer.bound,
            "error": layer.error,
            "scale": layer.scale,
            "attention": asdict(layer.attention),
            "interior": asdict(layer.interior),
            "border": asdict(layer.border),
        }
        for layer in report.layers
    ]
    kept = [{"names": layer.names, "num_heads": layer.num_heads, "reason": layer.reason} for layer in report.kept]
    return {"tolerance": report.tolerance, "layers": layers, "kept": kept, "model": asdict(report.model)}
