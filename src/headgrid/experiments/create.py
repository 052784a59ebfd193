"""Models by name, and models from files.

model = headgrid.create("quadratic", size="laptop", num_classes=100)
model = headgrid.load("runs/quadratic-laptop-seed0")
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from headgrid.experiments.experiment import Experiment, FileConfig, Model, Size
from headgrid.experiments.presets import make_experiment
from headgrid.experiments.serialization import (
    experiment_from_yaml,
    experiment_to_yaml,
    model_from_yaml,
    model_to_yaml,
    read_experiment,
)
from headgrid.training.checkpoint import (
    CHECKPOINTS,
    load_metadata,
    load_weights,
    save_tensors,
    to_disk,
)
from headgrid.training.run_folder import RunFolder
from headgrid.training.step import load_into

_MODEL, _EXPERIMENT = "model", "experiment"
"""Where the metadata of a weights file keep the model's config, and the experiment that trained it, as YAML."""


def create(
    name: str,
    size: Size = "paper",
    *,
    num_classes: int | None = None,
    image_size: tuple[int, int] | None = None,
    num_channels: int | None = None,
) -> Model:
    """The model of a preset with new weights, for other images if their classes, size or channels are given."""
    given = {"num_classes": num_classes, "image_size": image_size, "num_channels": num_channels}
    config = make_experiment(name, size).model
    return replace(config, **{field: value for field, value in given.items() if value is not None}).build()


def load(path: str | os.PathLike[str]) -> Model:
    """The trained model of a run folder or of a .safetensors file, in eval mode, on the CPU.

    A run gives the weights that validation chose. A file is one that `save_model` or `headgrid import` wrote, or
    one of a run's checkpoints.
    """
    path = Path(path)
    config = config_of(path)
    return with_weights(config, load_weights(path))


def config_of(path: Path) -> FileConfig:
    """The config of the model that `load` gives."""
    experiment = experiment_of(path)
    metadata = {} if path.is_dir() else load_metadata(path)
    if _MODEL in metadata:
        return model_from_yaml(metadata[_MODEL], str(path))
    if experiment is None:
        raise ValueError(
            f"{path} does not say which model its weights belong to: expected a run folder, one of its "
            f"checkpoints, or a file that headgrid wrote for a model"
        )
    return experiment.model


def experiment_of(path: Path) -> Experiment | None:
    """The experiment of a run folder, of the run that a checkpoint belongs to, or that a file remembers, if any."""
    if not path.exists():
        raise ValueError(f"{path} does not exist: expected a run folder or a .safetensors file")
    if path.is_file() and path.parent.name != CHECKPOINTS:
        stored = load_metadata(path).get(_EXPERIMENT)
        return None if stored is None else experiment_from_yaml(stored, str(path))
    run = RunFolder(path if path.is_dir() else path.parent.parent)
    run.experiment()  # says so where there is none
    return read_experiment(run.experiment_file)


def save_model(
    model: Model | FileConfig,
    path: str | os.PathLike[str],
    state: Mapping[str, Tensor] | None = None,
    experiment: Experiment | None = None,
) -> None:
    """Writes a file that `load` reads: the weights, and the model's config beside them.

    The weights are those of the model, or ``state``; given a config alone, ``state`` is needed. With an experiment
    the file remembers how the model was trained, and on what.
    """
    path = Path(path)
    if isinstance(model, Model):
        state = model.state_dict() if state is None else state
        model = model.config
    if state is None:
        raise ValueError("a config alone has no weights: give the state as well")
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {_MODEL: model_to_yaml(model)}
    if experiment is not None:
        metadata[_EXPERIMENT] = experiment_to_yaml(experiment)
    save_tensors(path, to_disk(dict(state)), metadata)


def with_weights(config: FileConfig, weights: dict[str, Tensor]) -> Model:
    """The model of a config with these weights, in their floating point type, in eval mode."""
    with torch.random.fork_rng(devices=[]):  # the caller's random numbers are not ours to draw
        model = config.build()
    dtypes = {tensor.dtype for tensor in weights.values() if tensor.is_floating_point()}
    if len(dtypes) == 1:
        model.to(dtypes.pop())
    load_into(model, weights)
    return model.eval()
