"""`headgrid evaluate`"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from headgrid.cli.data_argument import final_split
from headgrid.cli.model_argument import load_data, open_model
from headgrid.cli.output import print_json, print_table
from headgrid.data import Dataset, Split
from headgrid.data.progress import progress
from headgrid.evaluation.accuracy import Evaluation, Precision, evaluate
from headgrid.training import choose_device, set_num_threads


@dataclass(frozen=True)
class Arguments:
    """Measure a trained model: accuracy, top-5 accuracy from six classes on, loss, and each class."""

    model: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RUN_OR_MODEL")]
    """A run folder, one of its checkpoints, or a .safetensors file that headgrid wrote; or a foreign model:
    timm:NAME, torchvision:NAME, hf:FOLDER or module:path.to.factory."""
    data: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """cifar10, cifar100, embedded, or a folder of images; without, the data that the run was trained on."""
    data_dir: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Folder that holds the CIFAR files."""
    split: Split | Literal["auto"] = "auto"
    """Which images; auto takes the test images, and the validation images where there are none."""
    batch_size: int = 500
    """Images per batch; makes no difference to the results."""
    device: str = "auto"
    """cpu, cuda, cuda:1, mps; auto takes what there is, GPUs first."""
    precision: Precision = "float32"
    """What matrix products are computed in."""
    threads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Threads that torch computes with on the CPU."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print JSON."""


def main(arguments: Sequence[str]) -> int:
    options = tyro.cli(Arguments, args=arguments, prog="headgrid evaluate")
    set_num_threads(options.threads)
    device = choose_device(options.device)
    model = open_model(options.model)
    data = load_data(model, options.data, options.data_dir)
    split = options.split if options.split != "auto" else final_split(data)
    batches = data.evaluation_batches(split, options.batch_size, device)
    with progress(f"evaluating {data.num_images[split]} images", data.num_images[split]) as advance:
        evaluation = evaluate(model.module.to(device), batches, data.num_classes, options.precision, advance)
    if options.json:
        print_json(_to_json(data, split, evaluation))
    else:
        _print(data, split, evaluation)
    return 0


def _to_json(data: Dataset, split: Split, evaluation: Evaluation) -> dict:
    per_class = dict(zip(data.class_names, evaluation.per_class, strict=True))
    return {"data": data.name, "split": split, **asdict(evaluation), "per_class": per_class}


def _print(data: Dataset, split: Split, evaluation: Evaluation) -> None:
    print(f"{evaluation.num_images} {split} images of {data.name}")
    print(f"accuracy        {evaluation.accuracy:.4f}")
    if evaluation.top5_accuracy is not None:
        print(f"top-5 accuracy  {evaluation.top5_accuracy:.4f}")
    loss = "not finite" if evaluation.loss is None else f"{evaluation.loss:.4f}"
    print(f"loss            {loss}")
    if evaluation.num_overflows:
        print(f"overflows       {evaluation.num_overflows} images, which count as wrong answers")
    print()
    rows = [
        (name, "-" if accuracy is None else f"{accuracy:.4f}")
        for name, accuracy in zip(data.class_names, evaluation.per_class, strict=True)
    ]
    print_table(("class", "accuracy"), rows)
