"""`--data`: the name of a data set, or a folder of images."""

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from headgrid.data import Cifar10, Cifar100, Dataset, Embedded, ImageFolder, Split
from headgrid.experiments import DataConfig, Model, check_fits, experiment_of
from headgrid.experiments.kinds import suggestion

DATA = {"cifar10": Cifar10, "cifar100": Cifar100, "embedded": Embedded}


def choose_data(
    name: str | None, data_dir: Path | None, current: DataConfig, image_size: tuple[int, int]
) -> DataConfig:
    """The data of this name, which are the current ones without a name, read from ``data_dir``.

    Images of a folder are brought to ``image_size``.
    """
    data = current if name is None else _named(name, current, image_size)
    if data_dir is None:
        return data
    if not isinstance(data, Cifar10 | Cifar100):
        raise ValueError(
            "--data-dir says where the CIFAR files are; a folder of images is named with --data itself"
        )
    return replace(data, directory=data_dir)


def data_for(path: Path, model: Model, name: str | None, data_dir: Path | None) -> DataConfig:
    """The data of this name for a model; those that the run at ``path`` was trained on without a name."""
    data = _chosen_for(path, model, name, data_dir)
    check_fits(model.config, data)
    return data


def images_for(path: Path, model: Model, name: str | None, data_dir: Path | None) -> DataConfig:
    """The same where nothing but the images counts: they may show other classes than the model tells apart."""
    data = _chosen_for(path, model, name, data_dir)
    check_fits(replace(model.config, num_classes=data.num_classes), data)
    return data


def final_split(data: Dataset) -> Split:
    """The test images, or the validation images where there are none."""
    return "test" if data.num_images["test"] else "validation"


def some_images(data: Dataset, number: int) -> Tensor:
    """The first images of that split, normalised."""
    split = final_split(data)
    if not 1 <= number <= data.num_images[split]:
        raise ValueError(f"{data.name} has {data.num_images[split]} {split} images: {number} cannot be taken")
    images, _ = next(iter(data.evaluation_batches(split, number, torch.device("cpu")).epoch(0)))
    return images


def _chosen_for(path: Path, model: Model, name: str | None, data_dir: Path | None) -> DataConfig:
    experiment = experiment_of(path)
    if experiment is None and name is None:
        raise ValueError(f"{path} does not say what it was trained on: name the images with --data")
    current = Cifar10() if experiment is None else experiment.data
    return choose_data(name, data_dir, current, model.config.image_size)


def _named(name: str, current: DataConfig, image_size: tuple[int, int]) -> DataConfig:
    if name in DATA:
        # An experiment may have chosen something about its data that should stay.
        return current if type(current) is DATA[name] else DATA[name]()
    folder = Path(name).expanduser()
    if not folder.is_dir():
        raise ValueError(f"--data {name}: there is no such folder and no such data set: {suggestion(name, DATA)}")
    if isinstance(current, ImageFolder):
        return replace(current, directory=folder, image_size=image_size)
    return ImageFolder(folder, image_size=image_size)
