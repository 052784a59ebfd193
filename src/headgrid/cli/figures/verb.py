"""`headgrid figures`"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from headgrid.cli.figures.kinds import chosen_figures, list_of_figures
from headgrid.training import choose_device, set_num_threads

DESCRIPTION = """\
Draw figures of runs and models: those of the papers, and others. Whatever applies to a model is drawn.

Figures, and their numbers in the paper of Cordonnier et al. (ICLR) and in the reproduction report:

"""


@dataclass(frozen=True)
class Arguments:
    """Draw the figures of the papers, and others, of runs and models."""

    models: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="RUN_OR_MODEL [...]")]
    """Run folders, checkpoints, .safetensors files that headgrid wrote; or foreign models: timm:NAME,
    torchvision:NAME, hf:FOLDER, module:path.to.factory."""
    only: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME ...")] = ()
    """Which figures: names of the list above, or numbers of the papers as in iclr-5 and report-8a; all by
    default."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Where they go, into a folder for each model if there are several; by default the folder figures of a run, and
    figures/MODEL for other models."""
    formats: tuple[Literal["pdf", "png", "svg"], ...] = ("pdf", "png")
    """Kinds of files; an animation is a GIF, and an MP4 too where ffmpeg is installed."""
    data: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """cifar10, cifar100, embedded, or a folder of images; without, the data that a run was trained on."""
    data_dir: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Folder that holds the CIFAR files."""
    images: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NUMBER_OR_FILE ...")] = ()
    """Images to look at: numbers of test images (validation images where there are none), or files; by default the
    first, and four from all parts of the data in grids of images."""
    query: Annotated[tuple[int, int] | None, tyro.conf.arg(metavar="ROW COLUMN")] = None
    """The query pixel on the image, counted from 0; the middle one by default."""
    mean_over: Annotated[int, tyro.conf.arg(metavar="INT")] = 50
    """How many images means are taken over."""
    layer: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Which layer figures of a single one show, counted from 1; by default those that the paper shows: the first in
    the illustration, the fourth during the training."""
    sort_heads: tyro.conf.FlagCreatePairsOff[bool] = False
    """Put heads with similar patterns side by side, in each layer."""
    device: str = "auto"
    """cpu, cuda, cuda:1, mps; auto takes what there is, GPUs first."""
    threads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Threads that torch computes with on the CPU."""


def main(arguments: Sequence[str]) -> int:
    options = tyro.cli(
        Arguments, args=arguments, prog="headgrid figures", description=DESCRIPTION + list_of_figures()
    )
    names = chosen_figures(options.only)
    _check(options)
    try:
        import headgrid.figures  # noqa: F401 (says what to install where matplotlib is missing)
    except ImportError as error:
        raise ValueError(str(error)) from error
    from headgrid.cli.figures.draw_all import draw_all
    from headgrid.cli.figures.subject import Choices, Subject

    set_num_threads(options.threads)
    choices = Choices(
        images=options.images,
        query=options.query,
        num_images=options.mean_over,
        layer=options.layer,
        sort_heads=options.sort_heads,
        data=options.data,
        data_dir=options.data_dir,
        device=choose_device(options.device),
    )
    subjects = [Subject(word, choices) for word in options.models]
    undrawn = draw_all(subjects, names, options.out, options.formats)
    if len(undrawn) == len(names):
        raise ValueError("nothing was drawn: " + "; ".join(dict.fromkeys(undrawn.values())))
    if options.only and undrawn:
        raise ValueError("; ".join(f"{name} was not drawn: {reason}" for name, reason in undrawn.items()))
    return 0


def _check(options: Arguments) -> None:
    if not options.models:
        raise ValueError("there is nothing to draw: name at least one run or model")
    if not options.formats:
        raise ValueError("--formats should name at least one of pdf, png and svg")
    if options.mean_over < 1:
        raise ValueError(f"--mean-over should be at least 1, not {options.mean_over}")
