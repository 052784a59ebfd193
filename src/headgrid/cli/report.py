"""`headgrid report`"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import torch
import tyro

from headgrid.analysis import centers_of_row
from headgrid.data import Dataset, Split
from headgrid.experiments import Experiment, Model, experiment_of, load
from headgrid.explorer import Example, ReportContents, centers_picture, pixels_to_show, report_page
from headgrid.models import FullyAttentional
from headgrid.training import RunFolder
from headgrid.training.files import write_text


@dataclass(frozen=True)
class Arguments:
    """Write the report of a run: one HTML page with its accuracy, where its heads look, and attention maps."""

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """A run folder, finished or not."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """The page to write; by default report.html in the run folder."""
    picture: Annotated[Path | None, tyro.conf.arg(metavar="FILE.svg")] = None
    """Also write where the heads look, before and after training, as a picture of its own."""
    images: Annotated[tuple[int, ...], tyro.conf.arg(metavar="NUMBER ...")] = (0, 1)
    """Test images to show attention maps of."""
    query: Annotated[tuple[int, int] | None, tyro.conf.arg(metavar="ROW COLUMN")] = None
    """The query pixel in the layers' maps; the middle one by default."""


def main(arguments: Sequence[str]) -> int:
    options = tyro.cli(Arguments, args=arguments, prog="headgrid report")
    page = write_report(options.run, options.out, options.images, options.query)
    print(f"report: {page}")
    if options.picture is not None:
        write_centers_picture(options.run, options.picture)
        print(f"picture: {options.picture}")
    return 0


def write_report(
    folder: Path, out: Path | None = None, images: Sequence[int] = (0, 1), query: tuple[int, int] | None = None
) -> Path:
    """Writes the page of a run; returns its path."""
    run = RunFolder(folder)
    experiment = experiment_of(folder)
    if experiment is None or not folder.is_dir():
        raise ValueError(f"{folder} is no run folder: a report needs one that headgrid train has written")
    model, data = load(folder), experiment.data.load()
    rows = run.centers()
    contents = ReportContents(
        title=f"{experiment.name}, size {experiment.size}, on {data.name}",
        facts=_facts(run, experiment, model, data),
        metrics=run.metrics(),
        chance=1 / data.num_classes,
        centers={row["epoch"]: centers_of_row(row) for row in _thinned(rows)},
        examples=_examples(model, data, images, query),
    )
    page = folder / "report.html" if out is None else out
    page.parent.mkdir(parents=True, exist_ok=True)
    write_text(page, report_page(contents))
    return page


def write_centers_picture(folder: Path, out: Path) -> None:
    """Writes where the heads of a run looked before the training and after it."""
    rows = RunFolder(folder).centers()
    if not rows:
        raise ValueError(f"{folder} has no head centres: only models with quadratic scores have them")
    centers = {row["epoch"]: centers_of_row(row) for row in (rows[0], rows[-1])}
    named = {
        "before training": centers_of_row(rows[0]),
        f"after {rows[-1]['epoch']} epochs": centers_of_row(rows[-1]),
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, centers_picture(named, pixels_to_show(centers)))


def _facts(run: RunFolder, experiment: Experiment, model: Model, data: Dataset) -> list[tuple[str, str]]:
    facts = [("Parameters", f"{sum(parameter.numel() for parameter in model.parameters()):,}")]
    result = run.result()
    if result is None:
        return [("State", f"{len(run.metrics())} of {experiment.training.num_epochs} epochs done"), *facts]
    accuracy = result["test_accuracy"]
    if accuracy is not None:
        facts.insert(0, ("Test accuracy", f"{accuracy:.1%} (guessing: {1 / data.num_classes:.1%})"))
    chosen = f"epoch {result['selected_epoch']} of {result['num_epochs']}, by {result['selected_by']}"
    duration = f"{result['seconds'] / 60:.1f} min at {result['images_per_second']:.0f} images per second"
    return [*facts, ("Weights", chosen), ("Training", duration), ("Seed", str(result["seed"]))]


def _thinned(rows: list[dict], most: int = 25) -> list[dict]:
    """At most so many rows, evenly spread; the first and the last are among them."""
    if len(rows) <= most:
        return rows
    return [rows[round(index * (len(rows) - 1) / (most - 1))] for index in range(most)]


def _examples(model: Model, data: Dataset, images: Sequence[int], query: tuple[int, int] | None) -> list[Example]:
    if not isinstance(model, FullyAttentional):
        return []  # a network of convolutions has no attention to show
    split: Split = "test" if data.num_images["test"] else "validation"
    return [_example(model, data, split, number, query) for number in images]


def _example(
    model: FullyAttentional, data: Dataset, split: Split, number: int, query: tuple[int, int] | None
) -> Example:
    if not 0 <= number < data.num_images[split]:
        raise ValueError(f"there is no {split} image {number}: {data.name} has {data.num_images[split]}, from 0 on")
    batches = data.evaluation_batches(split, 1)
    image, label = next(iter(batches.epoch(0, number)))
    with torch.no_grad():
        logits, record = model(image, record=True)
    weights = {name: output.weights for name, output in record.items() if output.weights is not None}
    height, width = next(iter(weights.values())).shape[2:4]
    row, column = (height // 2, width // 2) if query is None else query
    if not (0 <= row < height and 0 <= column < width):
        raise ValueError(f"the query pixel {row} {column} is outside of the map of {height} x {width} pixels")
    return Example(
        image=data.normalization.undo(image)[0].permute(1, 2, 0).numpy(),
        label=data.class_names[int(label)],
        prediction=data.class_names[int(logits.argmax())],
        query=(row, column),
        maps={name: maps[0, :, row, column].numpy() for name, maps in weights.items()},
    )
