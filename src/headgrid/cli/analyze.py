"""`headgrid analyze`"""

import csv
import io
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
import tyro
from torch import Tensor

from headgrid.analysis.measure_attention import Thresholds, measure_attention
from headgrid.analysis.measure_tables import TableRow, head_rows, layer_rows
from headgrid.analysis.measures import AttentionMeasures
from headgrid.cli.data_argument import final_split
from headgrid.cli.measures_table import print_measures
from headgrid.cli.model_argument import OwnModel, load_images, open_model
from headgrid.cli.output import print_json
from headgrid.data import Dataset, Split
from headgrid.data.progress import progress
from headgrid.interop.foreign_model import ForeignModel
from headgrid.training import choose_device, set_num_threads
from headgrid.training.files import write_json, write_text

NUM_IMAGES = 100


@dataclass(frozen=True)
class Arguments:
    """Measure what every head of a model looks at: where, how widely, and how much like a convolution.

    For example:

    headgrid analyze runs/quadratic-laptop-seed0

    headgrid analyze timm:vit_tiny_patch16_224 --data FOLDER --images 50

    headgrid analyze module:my_models.make_vit --data cifar10 --out vit-analysis
    """

    model: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RUN_OR_MODEL")]
    """A run folder, one of its checkpoints, or a .safetensors file that headgrid wrote; or a foreign model:
    timm:NAME, torchvision:NAME, hf:FOLDER or module:path.to.factory."""
    data: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """cifar10, cifar100, embedded, or a folder of images; without, the data that the run was trained on."""
    data_dir: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Folder that holds the CIFAR files."""
    split: Split | Literal["auto"] = "auto"
    """Which images; auto takes the test images, and the validation images where there are none."""
    images: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """How many of them to look at, from the first on; 100, or all where there are fewer."""
    batch_size: int = 10
    """Images per batch; the maps of one batch are in memory at a time."""
    tolerance: float = Thresholds.tolerance
    """The share of its attention that a head may put elsewhere and still count for a shift of a kernel."""
    similarity: float = Thresholds.similarity
    """The cosine between maps above which heads count as looking at the same."""
    grid: Annotated[tuple[int, int] | None, tyro.conf.arg(metavar="ROWS COLUMNS")] = None
    """Patches of a foreign model, where they cannot be told from the number of its tokens."""
    num_tokens: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Tokens of a foreign model that are no patches (class token, registers), likewise."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Where measures.json, heads.csv and layers.csv go; by default the folder analysis of a run, and nowhere for
    other models."""
    device: str = "auto"
    """cpu, cuda, cuda:1, mps; auto takes what there is, GPUs first."""
    threads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Threads that torch computes with on the CPU."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print JSON."""


def main(arguments: Sequence[str]) -> int:
    options = tyro.cli(Arguments, args=arguments, prog="headgrid analyze")
    set_num_threads(options.threads)
    thresholds = Thresholds(options.tolerance, options.similarity)
    device = choose_device(options.device)
    model = open_model(options.model)
    data = load_images(model, options.data, options.data_dir)
    split = options.split if options.split != "auto" else final_split(data)
    num_images = _num_images(data, split, options.images)
    module = model.module if isinstance(model, OwnModel) else model.original
    batches = _first_images(data, split, num_images, options.batch_size, device)
    with progress(f"looking at {num_images} images", num_images) as advance:
        measures = measure_attention(
            module.to(device), batches, thresholds, advance, grid=options.grid, num_tokens=options.num_tokens
        )
    about = {"model": options.model, "data": data.name, "split": split, "thresholds": asdict(thresholds)}
    report = about | asdict(measures)
    if options.json:
        print_json(report)
    else:
        print(f"{measures.num_images} {split} images of {data.name}\n")
        print_measures(measures)
    out = _folder(model, options.out)
    if out is not None:
        _write(out, report, measures)
    return 0


def _num_images(data: Dataset, split: Split, asked: int | None) -> int:
    data.check_not_empty(split)
    available = data.num_images[split]
    if asked is None:
        return min(NUM_IMAGES, available)
    if not 1 <= asked <= available:
        raise ValueError(f"--images {asked}: {data.name} has {available} {split} images, so take 1 to {available}")
    return asked


def _first_images(
    data: Dataset, split: Split, number: int, batch_size: int, device: torch.device
) -> Iterator[Tensor]:
    left = number
    for images, _ in data.evaluation_batches(split, batch_size, device).epoch(0):
        yield images[:left]
        left -= len(images)
        if left <= 0:
            return


def _folder(model: OwnModel | ForeignModel, out: Path | None) -> Path | None:
    if out is not None or isinstance(model, ForeignModel):
        return out
    return model.path / "analysis" if model.path.is_dir() else None


def _write(folder: Path, report: dict[str, Any], measures: AttentionMeasures) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "measures.json", report)
    write_text(folder / "heads.csv", _csv(head_rows(measures)))
    write_text(folder / "layers.csv", _csv(layer_rows(measures)))
    print(f"wrote measures.json, heads.csv and layers.csv into {folder}", file=sys.stderr)


def _csv(rows: Sequence[TableRow]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
