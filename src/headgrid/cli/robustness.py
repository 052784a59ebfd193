"""`headgrid robustness`"""

import csv
import io
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from headgrid.cli.data_argument import final_split
from headgrid.cli.model_argument import load_data, open_model
from headgrid.cli.output import print_json
from headgrid.cli.robustness_checks import (
    STARTS,
    CheckName,
    Measured,
    StartName,
    TargetName,
    fraction,
    make_checks,
    print_tables,
    to_csv,
    to_json,
)
from headgrid.data import Split
from headgrid.data.progress import progress
from headgrid.evaluation.adversarial import PGD
from headgrid.evaluation.robustness import Check, num_passes, robustness
from headgrid.training import choose_device, set_num_threads
from headgrid.training.files import write_text

PLOT_FORMATS = ("png", "pdf", "svg")


@dataclass(frozen=True)
class Arguments:
    """Measure how accuracy drops when images are turned, or changed by an adversary (PGD)."""

    models: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="RUN_OR_MODEL [...]")]
    """Run folders, checkpoints, .safetensors files that headgrid wrote; or foreign models: timm:NAME,
    torchvision:NAME, hf:FOLDER, module:path.to.factory. Several are compared in one table."""
    data: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """cifar10, cifar100, embedded, or a folder of images; without, the data that a run was trained on."""
    data_dir: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Folder that holds the CIFAR files."""
    images: int = 1000
    """How many test images (validation images where there are none), each class in proportion; 0 takes all."""
    checks: tuple[CheckName, ...] = ("rotations", "pgd", "targeted-pgd")
    """Which checks run: clockwise by 90, 180, 270 degrees and upside-down; an attack; an attack towards a class."""
    epsilon: Annotated[str, tyro.conf.arg(metavar="NUMBER")] = "8/255"
    """How much PGD may change a pixel, from 0 to 1."""
    step_size: Annotated[str, tyro.conf.arg(metavar="NUMBER")] = "2/255"
    """How much a step of PGD changes a pixel."""
    iterations: int = 20
    """Steps of PGD."""
    start: StartName = "random"
    """Where PGD starts: anywhere within epsilon of the image, or at the image."""
    target: TargetName = "random"
    """What targeted PGD aims at: a random wrong class, or the wrong class that the model finds least likely."""
    seed: int = 0
    """Of PGD's random starts and targets."""
    batch_size: int = 250
    """Images per batch; makes no difference to the results."""
    device: str = "auto"
    """cpu, cuda, cuda:1, mps; auto takes what there is, GPUs first."""
    threads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Threads that torch computes with on the CPU."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print a JSON list, one entry for each model."""
    csv: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write the numbers as CSV too, one row for each model and check."""
    plot: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Draw them: a .png, .pdf or .svg file (needs matplotlib)."""


def main(arguments: Sequence[str]) -> int:
    options = tyro.cli(Arguments, args=arguments, prog="headgrid robustness")
    set_num_threads(options.threads)
    attack = PGD(
        epsilon=fraction(options.epsilon, "--epsilon"),
        step_size=fraction(options.step_size, "--step-size"),
        num_steps=options.iterations,
        start=STARTS[options.start],
        seed=options.seed,
    )
    checks = make_checks(options.checks, attack, options.target)
    _check_options(options, checks)
    save_plot = None if options.plot is None else _plotter(options.plot)
    measured = [_measure(word, options, checks) for word in options.models]
    if options.csv is not None:
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows(to_csv(measured))
        options.csv.parent.mkdir(parents=True, exist_ok=True)
        write_text(options.csv, file.getvalue())
        print(f"wrote {options.csv}", file=sys.stderr)
    if save_plot is not None:
        save_plot(measured)
        print(f"wrote {options.plot}", file=sys.stderr)
    if options.json:
        print_json([to_json(one) for one in measured])
    else:
        print_tables(measured)
    return 0


def _check_options(options: Arguments, checks: tuple[Check, ...]) -> None:
    if not options.models:
        raise ValueError("there is no model to measure: name at least one run or model")
    if not checks:
        raise ValueError("--checks should name at least one of rotations, pgd and targeted-pgd")
    if options.images < 0:
        raise ValueError(f"--images should be a number of images, or 0 for all, not {options.images}")
    if options.csv is not None and options.csv.is_dir():
        raise ValueError(f"--csv {options.csv} is a folder: name a file")
    if options.batch_size < 1:
        raise ValueError(f"--batch-size must be at least 1, not {options.batch_size}")


def _measure(word: str, options: Arguments, checks: tuple[Check, ...]) -> Measured:
    device = choose_device(options.device)
    model = open_model(word)
    data = load_data(model, options.data, options.data_dir)
    split: Split = final_split(data)
    sample = options.images if 0 < options.images < data.num_images[split] else None
    batches = data.evaluation_batches(split, options.batch_size, device, sample)
    with progress(
        f"checking {word} on {batches.num_images} images", batches.num_images * num_passes(checks)
    ) as step:
        found = robustness(
            model.module.to(device), batches, data.num_classes, data.normalization, checks, progress=step
        )
    return Measured(word, data.name, split, found)


def _plotter(path: Path) -> Callable[[Sequence[Measured]], None]:
    """Says before any work is done whether the plot can be drawn; then the function that draws it."""
    kind: Any = path.suffix.removeprefix(".")
    if kind not in PLOT_FORMATS:
        raise ValueError(f"--plot {path} should end in {', '.join(f'.{known}' for known in PLOT_FORMATS)}")
    try:
        from headgrid.figures.robustness import robustness_bars
        from headgrid.figures.saving import save_figure
    except ImportError as error:
        raise ValueError(str(error)) from error

    def save(measured: Sequence[Measured]) -> None:
        figure = robustness_bars(
            [one.model for one in measured],
            [outcome.check.name for outcome in measured[0].robustness.outcomes],
            np.array([one.robustness.unchanged.accuracy for one in measured]),
            np.array([[o.evaluation.accuracy for o in one.robustness.outcomes] for one in measured]),
        )
        save_figure(figure, path.parent, path.stem, [kind])

    return save
