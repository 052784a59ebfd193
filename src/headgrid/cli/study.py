"""`headgrid study`"""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from headgrid.cli.output import print_json, print_table
from headgrid.experiments import Experiment, experiment_to_yaml
from headgrid.experiments.kinds import suggestion
from headgrid.study import STUDIES, Outcome, Study, markdown_table, outcomes
from headgrid.study.table import COLUMNS, cells
from headgrid.training import RunFolder
from headgrid.training.files import write_text
from headgrid.training.lock import is_locked

FORMATS = ("png", "pdf", "svg")


@dataclass(frozen=True)
class Arguments:
    """Train all runs of a study, one after the other, and print what came out.

    Finished runs are not repeated and begun ones go on, so that the command can be stopped and given again. Given
    in several terminals, or on several machines with a common folder, the commands share the work: a run that
    another one is training is left to it.
    """

    name: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="STUDY")] = None
    """Which study; without a name, all are listed."""
    runs: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("runs")
    """Where the run folders stand."""
    report_only: tyro.conf.FlagCreatePairsOff[bool] = False
    """Train nothing: print what the finished runs say."""
    table: Annotated[Path | None, tyro.conf.arg(metavar="FILE.md")] = None
    """Write the table as Markdown."""
    figure: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Draw the accuracies: a .png, .pdf or .svg file (needs matplotlib)."""
    data_dir: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Folder that holds the CIFAR files; otherwise $HEADGRID_DATA, then the cache, then a download."""
    device: str = "auto"
    """cpu, cuda, cuda:1, mps; auto takes what there is, GPUs first."""
    threads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Threads that each training computes with on the CPU."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print a JSON list, one entry for each row."""


def main(arguments: Sequence[str]) -> int:
    options = tyro.cli(Arguments, args=arguments, prog="headgrid study")
    if options.name is None:
        _print_studies(options.json)
        return 0
    if options.name not in STUDIES:
        raise ValueError(f"there is no study {options.name!r}: {suggestion(options.name, STUDIES)}")
    study = STUDIES[options.name]
    _check_figure(options.figure)
    failed = [] if options.report_only else _train_all(study, options)
    found = outcomes(study, options.runs)
    if options.table is not None:
        options.table.parent.mkdir(parents=True, exist_ok=True)
        write_text(options.table, markdown_table(found))
    if options.figure is not None:
        _draw(found, options.figure)
    if options.json:
        print_json([_to_json(outcome) for outcome in found])
    else:
        num_runs, num_finished = len(study.runs()), sum(len(outcome.results) for outcome in found)
        print(f"{study.question}\n{num_finished} of {num_runs} runs are finished.\n")
        print_table(COLUMNS, cells(found))
    if failed:
        raise ValueError(
            f"{len(failed)} runs failed and are missing above: {', '.join(failed)}; see their messages"
        )
    return 0


def _print_studies(as_json: bool) -> None:
    if as_json:
        print_json([{"name": s.name, "question": s.question, "num_runs": len(s.runs())} for s in STUDIES.values()])
        return
    print_table(("study", "question", "runs"), [(s.name, s.question, str(len(s.runs()))) for s in STUDIES.values()])


def _train_all(study: Study, options: Arguments) -> list[str]:
    """Each run in a process of its own, so that it is the same as one trained alone. Returns those that failed."""
    runs, failed = study.runs(), []
    for number, experiment in enumerate(runs, start=1):
        folder = options.runs / experiment.title
        if RunFolder(folder).result() is not None:
            continue
        if is_locked(folder):
            print(f"{experiment.title} is being trained by another process", file=sys.stderr)
            continue
        print(f"run {number} of {len(runs)}: {experiment.title}", file=sys.stderr, flush=True)
        if _train(experiment, folder, options) != 0:
            failed.append(experiment.title)
    return failed


def _train(experiment: Experiment, folder: Path, options: Arguments) -> int:
    config = options.runs / f"{experiment.title}.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    write_text(config, experiment_to_yaml(experiment))
    words = ["train", "--config", str(config), "--run", str(folder), "--resume", "--device", options.device]
    if options.threads is not None:
        words += ["--threads", str(options.threads)]
    environment = dict(os.environ)
    if options.data_dir is not None:
        environment["HEADGRID_DATA"] = str(options.data_dir.resolve())
    command = [sys.executable, "-m", "headgrid", *words]
    process = subprocess.Popen(command, env=environment, stdout=sys.stderr)
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.wait()  # it was interrupted as well: it saves, and says how to go on
        raise
    finally:
        config.unlink(missing_ok=True)


def _to_json(outcome: Outcome) -> dict[str, Any]:
    return {
        "group": outcome.row.group,
        "variant": outcome.row.variant,
        "num_parameters": outcome.num_parameters,
        "num_epochs": outcome.row.experiment.training.num_epochs,
        "mean_test_accuracy": outcome.mean,
        "standard_deviation": outcome.deviation,
        "runs": [asdict(result) for result in outcome.results],
    }


def _check_figure(path: Path | None) -> None:
    """Says before any work is done whether the figure can be drawn."""
    if path is None:
        return
    if path.suffix.removeprefix(".") not in FORMATS:
        raise ValueError(f"--figure {path} should end in {', '.join(f'.{known}' for known in FORMATS)}")
    try:
        import headgrid.figures  # noqa: F401
    except ImportError as error:
        raise ValueError(str(error)) from error


def _draw(found: Sequence[Outcome], path: Path) -> None:
    from headgrid.figures.saving import save_figure
    from headgrid.figures.study_accuracies import AccuracyRow, study_accuracies

    rows = [AccuracyRow(outcome.row.group, outcome.row.variant, outcome.test_accuracies) for outcome in found]
    kind: Any = path.suffix.removeprefix(".")
    save_figure(study_accuracies(rows), path.parent, path.stem, [kind])
