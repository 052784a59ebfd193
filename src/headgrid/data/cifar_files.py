"""CIFAR from disk or, where it is nowhere on disk, from its official address."""

from pathlib import Path

import torch

from headgrid.data.augmentation import CropAndFlip, NoAugmentation
from headgrid.data.cifar_binary_layout import BinaryLayout
from headgrid.data.cifar_python_layout import PythonLayout
from headgrid.data.cifar_releases import CifarRelease
from headgrid.data.data_folders import data_folders
from headgrid.data.download import fetch_folder
from headgrid.data.tensor_dataset import LabelledImages, TensorDataset
from headgrid.data.validation_split import validation_split


def load_cifar(
    release: CifarRelease,
    name: str,
    directory: Path | None,
    num_validation: int,
    augmentation: CropAndFlip | NoAugmentation,
    split_seed: int,
) -> TensorDataset:
    folder, layout = find_or_fetch(release, directory)
    data = _read(release, layout, folder, layout.train_files, release.num_train)
    test = _read(release, layout, folder, layout.test_files, release.num_test)
    train_indices, validation_indices = validation_split(data.labels, num_validation, split_seed)
    train, validation = data.select(train_indices), data.select(validation_indices)
    return TensorDataset(name, release.class_names, release.normalization, augmentation, train, validation, test)


def find_or_fetch(release: CifarRelease, directory: Path | None) -> tuple[Path, BinaryLayout | PythonLayout]:
    """The folder with the files, and how they are laid out."""
    names = " or ".join(layout.folder for layout in release.layouts)
    if directory is not None and not directory.expanduser().is_dir():
        raise ValueError(
            f"there is no folder {directory}; name one that holds {names}, or make it and {release.title} is "
            f"fetched into it"
        )
    places = data_folders(directory)
    if found := find(release, places):
        return found
    try:
        fetch_folder(release.remote, places[0])
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{release.title} is in none of {', '.join(map(str, places))}, and fetching it failed: {error}; "
            f"get {release.remote.url} in another way and put its folder {names} into one of these places, "
            f"or name the place with --data-dir or HEADGRID_DATA"
        ) from error
    found = find(release, places[:1])
    assert found is not None
    return found


def find(release: CifarRelease, places: list[Path]) -> tuple[Path, BinaryLayout | PythonLayout] | None:
    """The first place that holds a layout's folder, or is such a folder itself."""
    for place in places:
        for layout in release.layouts:
            files = (*layout.train_files, *layout.test_files)
            inner = place / layout.folder
            if inner.is_dir() or any((place / file).is_file() for file in files):
                folder = inner if inner.is_dir() else place
                if missing := [file for file in files if not (folder / file).is_file()]:
                    raise ValueError(
                        f"{folder} lacks {', '.join(missing)}; complete or remove it, then it is fetched again"
                    )
                return folder, layout
    return None


def _read(
    release: CifarRelease,
    layout: BinaryLayout | PythonLayout,
    folder: Path,
    files: tuple[str, ...],
    num_images: int,
) -> LabelledImages:
    parts = []
    for file in files:
        part = layout.read(folder / file, num_images // len(files))
        num_classes = len(release.class_names)
        if len(strange := part.labels[(part.labels < 0) | (part.labels >= num_classes)]):
            raise ValueError(
                f"{folder / file} has a label {int(strange[0])}, but the classes of {release.title} count from 0 "
                f"to {num_classes - 1}; it is damaged, fetch it again"
            )
        parts.append(part)
    return LabelledImages(torch.cat([part.images for part in parts]), torch.cat([part.labels for part in parts]))
