"""From an experiment to a trained run folder: data, model and training put together."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch

from headgrid.analysis import describe_centers
from headgrid.data import Dataset
from headgrid.experiments.experiment import DataConfig, Experiment, FileConfig, Model
from headgrid.experiments.serialization import experiment_from_yaml, experiment_to_yaml
from headgrid.training.checkpoint import load_tensors
from headgrid.training.device import choose_device
from headgrid.training.distributed import Processes, connected, processes_from_environment
from headgrid.training.loop import train
from headgrid.training.progress import Progress
from headgrid.training.result import TrainingResult
from headgrid.training.run_folder import RunFolder
from headgrid.training.step import load_into
from headgrid.training.writers import Writer


def run(
    experiment: Experiment,
    folder: Path,
    *,
    resume: bool = False,
    device: str = "auto",
    compile: bool = False,
    writers: Sequence[Writer] = (),
    progress: Progress | None = None,
    repeats: Path | None = None,
    resume_hint: str = "Run the experiment in the same folder with resume to go on.",
) -> TrainingResult:
    """Trains the experiment into a run folder; started by torchrun, as one of several processes.

    An experiment that begins with stored weights finds their copy in ``folder``, if the run is resumed, in the run
    folder that it ``repeats``, or where they came from.
    """
    processes = processes_from_environment()
    chosen = choose_device(device, processes.local_rank)
    with connected(processes, chosen) as processes:
        check_fits(experiment.model, experiment.data)
        weights = None
        if experiment.initial_weights is not None:
            weights = experiment.initial_weights.find([folder] if repeats is None else [folder, repeats])
        model = initial_model(experiment, weights)
        experiment.heads.check(model)
        data = _load_data(experiment, processes)
        config = experiment.training
        validation, test = (
            partial(data.evaluation_batches, split, config.evaluation_batch_size, chosen)
            if data.num_images[split]
            else None
            for split in ("validation", "test")
        )
        return train(
            model,
            data.training_batches(
                config.batch_size, experiment.seed, chosen, processes.rank, processes.num_processes
            ),
            None if validation is None else validation(),
            config,
            folder,
            experiment=_as_stored(experiment, folder),
            num_classes=data.num_classes,
            seed=experiment.seed,
            device=chosen,
            resume=resume,
            compile=compile,
            test_batches=test,
            describe=describe_centers,
            penalty=None if experiment.heads.penalty is None else experiment.heads.penalty.of,
            renew=None if experiment.heads.reset is None else experiment.heads.reset.new_rows,
            initial_weights=weights,
            writers=writers,
            progress=progress,
            processes=processes,
            resume_hint=resume_hint,
        )


def initial_model(experiment: Experiment, weights: Path | None = None) -> Model:
    """The model before training: with the weights of a file, or with random ones, the same for the same seed."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(experiment.seed)
        model = experiment.model.build()
    if weights is not None:
        load_into(model, load_tensors(weights))
    return model


def _as_stored(experiment: Experiment, folder: Path) -> str:
    """The text of the experiment; the stored one where it says the same.

    An older version of headgrid may have written it without fields that have come since, with their defaults.
    """
    stored = RunFolder(folder).experiment_file
    if stored.exists():
        text = stored.read_text(encoding="utf-8")
        if experiment_from_yaml(text, str(stored)) == experiment:
            return text
    return experiment_to_yaml(experiment)


def check_fits(model: FileConfig, data: DataConfig) -> None:
    """Whether the model takes these images and tells as many classes apart."""
    for what, of_model, of_data in (
        ("num_classes", model.num_classes, data.num_classes),
        ("num_channels", model.num_channels, data.num_channels),
        ("image_size", model.image_size, data.image_size),
    ):
        if of_model != of_data:
            raise ValueError(
                f"the model was made for {what} {of_model} and the images of {data.name} have {of_data}: "
                f"choose other images, or another {what} for the model"
            )


def _load_data(experiment: Experiment, processes: Processes) -> Dataset:
    """One process goes first: it fetches what is missing, and the others find it there."""
    loaded: list[Dataset] = []
    processes.on_main(lambda: loaded.append(experiment.data.load()))
    return loaded[0] if loaded else experiment.data.load()
