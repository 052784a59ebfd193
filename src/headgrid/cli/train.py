"""`headgrid train`"""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from headgrid.cli.experiment_arguments import (
    ExperimentArguments,
    base_experiment,
    parse_experiment,
    parse_first,
    with_options,
)
from headgrid.cli.output import print_json
from headgrid.experiments import (
    ALL_PRESETS,
    Experiment,
    experiment_of,
    make_experiment,
    read_experiment,
    retraining,
    run,
)
from headgrid.training import (
    RunFolder,
    TensorBoard,
    TrainingResult,
    WeightsAndBiases,
    Writer,
    choose_progress,
    processes_from_environment,
    set_num_threads,
)

PROG = "headgrid train"
RUNS = Path("runs")


@dataclass(frozen=True)
class Arguments(ExperimentArguments):
    """Train a preset, or an experiment from a file, into a run folder."""

    from_: Annotated[Path | None, tyro.conf.arg(name="from", metavar="RUN_OR_FILE")] = None
    """Go on from a trained model (a run, one of its checkpoints, a file that headgrid wrote) as the paper retrains
    pruned ones: a third of the epochs at a tenth of the rate of the recipe that trained it, or of PRESET."""
    run: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Run folder; by default runs/PRESET-SIZE-seedSEED."""
    resume: tyro.conf.FlagCreatePairsOff[bool] = False
    """Go on with the run in the folder, exactly as if it had not stopped; needs no preset then."""
    device: str = "auto"
    """cpu, cuda, cuda:1, mps; auto takes what there is, GPUs first."""
    threads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Threads that torch computes with on the CPU."""
    compile: tyro.conf.FlagCreatePairsOff[bool] = False
    """Compile the model; starts later and runs faster."""
    tensorboard: tyro.conf.FlagCreatePairsOff[bool] = False
    """Write event files for TensorBoard into the run folder."""
    wandb: tyro.conf.FlagCreatePairsOff[bool] = False
    """Send the metrics to Weights & Biases."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print the result as JSON."""

    @property
    def names_experiment(self) -> bool:
        return super().names_experiment or self.from_ is not None


def main(arguments: Sequence[str]) -> int:
    first = parse_first(Arguments, arguments, PROG)
    experiment = parse_experiment(Arguments, arguments, _base(first), PROG)
    folder = RUNS / experiment.title if first.run is None else first.run
    processes = processes_from_environment()
    is_main = processes.is_main
    if is_main and not first.resume and folder.is_dir() and any(folder.iterdir()):
        raise ValueError(
            f"the run folder {folder} is not empty: add --resume to go on with the run in it, "
            f"or choose another folder with --run"
        )
    set_num_threads(first.threads)
    result = run(
        experiment,
        folder,
        resume=first.resume,
        device=first.device,
        compile=first.compile,
        writers=_writers(first),
        progress=choose_progress(),
        repeats=None if first.config is None else first.config.parent,
        resume_hint=_resume_hint(folder, processes.num_processes),
    )
    if is_main:
        _print(experiment, folder, result, first.json)
    return 0


def _resume_hint(folder: Path, num_processes: int) -> str:
    words = f"train --run {shlex.quote(str(folder))} --resume"
    if num_processes == 1:
        return f"To go on: headgrid {words}"
    return f"To go on, in as many processes: torchrun --nproc-per-node {num_processes} -m headgrid -- {words}"


def _base(options: Arguments) -> Experiment:
    """The experiment that the options name; that of the run folder if they name none and resume."""
    if options.from_ is not None:
        return with_options(retraining(_recipe(options, options.from_), options.from_), options)
    if options.resume and options.run is not None and not options.names_experiment:
        stored = RunFolder(options.run)
        stored.experiment()  # says so where there is none
        return with_options(read_experiment(stored.experiment_file), options)
    return base_experiment(options)


def _recipe(options: Arguments, trained: Path) -> Experiment:
    """How a model is trained that is there already."""
    if options.config is not None:
        raise ValueError("--config names a whole experiment, with the weights that it begins with: give no --from")
    if options.preset is not None:
        return make_experiment(options.preset, options.size)
    recipe = experiment_of(trained)
    if recipe is None:
        raise ValueError(
            f"{trained} does not say how its model was trained: name a preset before all options, whose recipe to "
            f"take"
        )
    return recipe


def _writers(options: Arguments) -> list[Writer]:
    writers: list[Writer] = []
    if options.tensorboard:
        writers.append(TensorBoard())
    if options.wandb:
        writers.append(WeightsAndBiases())
    return writers


def _print(experiment: Experiment, folder: Path, result: TrainingResult, as_json: bool) -> None:
    preset = ALL_PRESETS.get(experiment.name)
    if as_json:
        published = None if preset is None else preset.accuracy
        print_json({"run": str(folder), "paper_accuracy": published, **result.to_json()})
        return
    print(f"{experiment.title}: {result.in_words()}")
    if preset is not None and preset.accuracy is not None:
        print(f"published for size paper on {preset.images}: {preset.accuracy:.1%} ({preset.paper})")
    print(f"run folder: {folder}")
    sys.stdout.flush()
