"""`headgrid prune`"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, make_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
import tyro
from torch import Tensor

from headgrid.cli.data_argument import data_for
from headgrid.cli.experiment_arguments import HELP, INLINE
from headgrid.cli.out_file import check_out
from headgrid.cli.output import print_json
from headgrid.cli.prune_report import prune_report
from headgrid.data import Dataset, Split
from headgrid.data.progress import progress
from headgrid.experiments import experiment_of, load, save_model
from headgrid.pruning import (
    Content,
    Criterion,
    Degeneracy,
    Entropy,
    Gradient,
    RankedCriterion,
    Redundancy,
    prunable_layers,
    prune,
)
from headgrid.training import choose_device, set_num_threads

PROG = "headgrid prune"

By = Literal["degeneracy", "entropy", "content", "gradient", "redundancy"]

CRITERIA: dict[By, type[Criterion]] = {
    "degeneracy": Degeneracy,
    "entropy": Entropy,
    "content": Content,
    "gradient": Gradient,
    "redundancy": Redundancy,
}


@dataclass(frozen=True)
class Arguments:
    """Remove heads of a trained model, and write the smaller model that is left.

    Heads go by degeneracy (Gaussians that look everywhere, or at a stripe: the paper's way), entropy (heads that
    look everywhere), content (heads that do not look at the image), gradient (heads that hardly matter to the loss)
    or redundancy (heads that look at what another one does). Each has a threshold of its own: its help is that of
    `headgrid prune --by NAME --help`. With --remove, --keep or --fraction it is the weakest heads that go. What is
    left is trained on by `headgrid train --from OUT`.
    """

    model: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """A run folder, one of its checkpoints, or a .safetensors file that headgrid wrote."""
    out: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="OUT")]
    """The .safetensors file to write; `headgrid evaluate`, `headgrid train --from` and `headgrid.load` read it."""
    by: By = "degeneracy"
    """What the heads are judged by."""
    data: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """cifar10, cifar100, embedded, or a folder of images; by default the data that the run was trained on."""
    data_dir: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Folder that holds the CIFAR files."""
    images: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """On how many images heads are judged, all but by degeneracy: validation images, training images where there
    are none, each class in proportion; 200, or all where there are fewer."""
    batch_size: int = 10
    """Images per batch of these; the maps of one batch are in memory at a time."""
    evaluate: tyro.conf.FlagCreatePairsOff[bool] = False
    """Measure the accuracy before and after, on all test images (validation images where there are none)."""
    device: str = "auto"
    """cpu, cuda, cuda:1, mps; auto takes what there is, GPUs first."""
    threads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Threads that torch computes with on the CPU."""
    force: tyro.conf.FlagCreatePairsOff[bool] = False
    """Replace OUT if it exists."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print the report as JSON."""


@dataclass(frozen=True)
class _ByAlone:
    by: By = "degeneracy"


NUM_IMAGES = 200


def main(arguments: Sequence[str]) -> int:
    words = [word for word in arguments if word not in HELP]
    chosen, _ = tyro.cli(_ByAlone, args=words, prog=PROG, return_unknown_args=True)
    request: Any = tyro.cli(_request(chosen.by), args=arguments, prog=PROG)
    options, criterion = request.arguments, request.criterion
    set_num_threads(options.threads)
    check_out(options.out, options.force)
    device = choose_device(options.device)
    model = load(options.model)
    prunable_layers(model)  # says so if there is nothing to remove, before any image is looked for
    looks = isinstance(criterion, RankedCriterion)
    data = (
        data_for(options.model, model, options.data, options.data_dir).load() if looks or options.evaluate else None
    )
    model.to(device)
    pruning = prune(model, criterion, _judged_images(data, options, device) if looks and data else None)
    experiment = experiment_of(options.model)
    if experiment is not None:
        experiment = replace(experiment, model=pruning.model.config)
    save_model(pruning.model, options.out, experiment=experiment)
    report = prune_report(model, pruning, data if options.evaluate else None)
    if options.json:
        print_json({"by": options.by, "criterion": asdict(criterion), **report.to_json()})
    else:
        report.print()
    print(f"wrote {options.out}", file=sys.stderr)
    return 0


def _request(by: By) -> Any:
    """The options of the verb, and those of the criterion."""
    criterion = CRITERIA[by]
    return make_dataclass(
        "Request",
        [
            ("arguments", Annotated[Arguments, INLINE]),
            ("criterion", Annotated[criterion, INLINE], field(default_factory=criterion)),
        ],
        namespace={"__doc__": Arguments.__doc__},
        frozen=True,
    )


def _judged_images(data: Dataset, options: Arguments, device: torch.device) -> Iterator[tuple[Tensor, Tensor]]:
    """Images that heads are judged on: never test images, which show what the pruned model is worth."""
    split: Split = "validation" if data.num_images["validation"] else "train"
    available = data.num_images[split]
    if options.images is not None and not 1 <= options.images <= available:
        raise ValueError(
            f"--images {options.images}: {data.name} has {available} {split} images, so take 1 to {available}"
        )
    number = min(NUM_IMAGES, available) if options.images is None else options.images
    batches = data.evaluation_batches(split, options.batch_size, device, sample=number)
    with progress(f"judging heads on {number} {split} images", number) as advance:
        for images, labels in batches.epoch(0):
            yield images, labels
            advance(len(images))
