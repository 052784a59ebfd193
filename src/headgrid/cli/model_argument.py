"""RUN_OR_MODEL: a model of ours by its run or file, or a foreign one by its name, and the images to go with it."""

import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from headgrid.cli.data_argument import choose_data, data_for, images_for
from headgrid.data import Cifar10, Dataset, ImageFolder
from headgrid.experiments import Model, load
from headgrid.interop.foreign_model import ForeignModel, is_foreign_name, open_foreign_model

IMAGE_SIZE_OF_FOLDERS = (224, 224)
"""Where a foreign model does not say which images it was made for."""


@dataclass(frozen=True)
class OwnModel:
    """A model of headgrid, in eval mode on the CPU."""

    name: str
    """The run or file, as it was given."""
    module: Model
    """Images in, logits out."""
    path: Path


def open_model(word: str) -> OwnModel | ForeignModel:
    """The model that a command line names.

    It is a run folder, one of its checkpoints, a .safetensors file that headgrid wrote, or a foreign name such as
    `timm:resnet18` (see `headgrid.interop.foreign_model`).
    """
    if is_foreign_name(word):
        return open_foreign_model(word)
    return OwnModel(word, load(word), Path(word))


def load_data(model: OwnModel | ForeignModel, name: str | None, data_dir: Path | None) -> Dataset:
    """The images of this name, as the model takes them.

    Without a name they are those that a run was trained on; for a foreign model a name is needed. Foreign models
    get them in their size, if it is a folder of images, and with their normalisation, where they name these.
    """
    if isinstance(model, OwnModel):
        return data_for(model.path, model.module, name, data_dir).load()
    data = _foreign_data(model, name, data_dir)
    logits = _run_one(model.name, model.module, data)
    if logits.shape != (1, data.num_classes):
        raise ValueError(
            f"{model.name} tells {logits.shape[-1]} classes apart and the images of {data.name} have "
            f"{data.num_classes}: choose other images, or give the model other weights, as in "
            f"timm:NAME,num_classes={data.num_classes},weights=FILE.safetensors"
        )
    return data


def load_images(model: OwnModel | ForeignModel, name: str | None, data_dir: Path | None) -> Dataset:
    """The same where nothing but the images counts: they may show other classes than the model tells apart."""
    if isinstance(model, OwnModel):
        return images_for(model.path, model.module, name, data_dir).load()
    data = _foreign_data(model, name, data_dir)
    _run_one(model.name, model.original, data)
    return data


def _foreign_data(model: ForeignModel, name: str | None, data_dir: Path | None) -> Dataset:
    if name is None:
        raise ValueError(f"{model.name} does not say what it was trained on: name the images with --data")
    config = choose_data(name, data_dir, Cifar10(), model.image_size or IMAGE_SIZE_OF_FOLDERS)
    if isinstance(config, ImageFolder) and model.crop_fraction is not None:
        config = replace(config, crop_fraction=model.crop_fraction)
    data = config.load()
    if model.normalization is not None and len(model.normalization.mean) == data.num_channels:
        data = copy.copy(data)
        data.normalization = model.normalization
    return data


def _run_one(name: str, module: nn.Module, data: Dataset) -> Any:
    """What the model gives for a black image, because only the model itself knows what it takes."""
    rows, columns = data.image_size
    image = data.normalization.apply(torch.zeros(1, data.num_channels, rows, columns, dtype=torch.uint8))
    try:
        with torch.no_grad():
            return module(image)
    except (AssertionError, RuntimeError, ValueError) as error:
        raise ValueError(
            f"{name} cannot take the images of {data.name}, {data.num_channels} x {rows} x {columns}: {error}"
        ) from error
