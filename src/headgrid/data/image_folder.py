"""A folder of photographs, `train/<class>/<image>` and `val` or `test` likewise: ImageNet and its relatives."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from headgrid.data.augmentation import CropAndFlip, NoAugmentation, RandomResizedCropAndFlip
from headgrid.data.data_folders import data_folders
from headgrid.data.dataset import Dataset, Normalization
from headgrid.data.equalization import Equalization, NoEqualization
from headgrid.data.folder_dataset import FolderDataset
from headgrid.data.folder_index import FolderIndex, class_folders, read_index
from headgrid.data.image_decoding import ResizeAndCenterCrop
from headgrid.data.validation_split import validation_split

IMAGENET = Normalization((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))

LARGEST_DEFAULT_NUM_WORKERS = 8


@dataclass(frozen=True)
class ImageFolder:
    """Image files in train/<class>/, and in val/<class>/ (or validation) and test/<class>/ or one of them.

    Without `val`, a part of `train` is put aside for choosing models. Without `test` there is no test split.
    """

    directory: Path
    """Folder that holds `train` and `val` or `test`; looked for here, in HEADGRID_DATA and in the cache."""
    image_size: tuple[int, int] = (224, 224)
    """Rows and columns that images are brought to."""
    augmentation: RandomResizedCropAndFlip | CropAndFlip | NoAugmentation = field(
        default_factory=RandomResizedCropAndFlip
    )
    """Random changes of the training images."""
    equalization: Equalization = field(default_factory=NoEqualization)
    """What is done to the histogram of every image, when it has been brought to its size."""
    crop_fraction: float = 0.875
    """What evaluation sees of the shorter side: image_size is cut out after a resize to image_size / this."""
    validation_fraction: float = 0.1
    """Part of the training images put aside for choosing models where no val folder exists."""
    split_seed: int = 0
    """Seed that says which training images are put aside."""
    num_workers: int | None = None
    """Processes that decode images; 0 decodes in the main one; by default one per processor, at most 8."""

    num_channels: ClassVar[int] = 3

    def __post_init__(self) -> None:
        if min(self.image_size) < 1:
            raise ValueError(f"image_size must be at least one row and one column, not {self.image_size}")
        if not 0 < self.crop_fraction <= 1:
            raise ValueError(f"crop_fraction must be from (0, 1], not {self.crop_fraction}")
        if not 0 <= self.validation_fraction < 1:
            raise ValueError(f"validation_fraction must be from [0, 1), not {self.validation_fraction}")
        if self.num_workers is not None and self.num_workers < 0:
            raise ValueError(f"num_workers must be at least 0, not {self.num_workers}")

    @property
    def name(self) -> str:
        return self.directory.resolve().name

    @property
    def folder(self) -> Path:
        """Where the images are."""
        candidates = [self.directory.expanduser()]
        candidates += [folder / self.directory for folder in data_folders(None)]
        return next((folder for folder in candidates if folder.is_dir()), candidates[0])

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the folders in `train`."""
        return class_folders(self.folder / "train")

    @property
    def num_classes(self) -> int:
        return len(self.class_names)

    def load(self) -> Dataset:
        directory = self.folder
        train = read_index(directory / "train")
        validation = _held_out(directory, ("val", "validation"), train)
        test = _held_out(directory, ("test",), train)
        if validation is None and test is None:
            raise ValueError(f"{directory} holds neither a folder val nor a folder test beside train")
        if validation is None:
            num_validation = round(self.validation_fraction * len(train.files))
            kept, put_aside = validation_split(train.labels, num_validation, self.split_seed)
            train, validation = train.select(kept), train.select(put_aside)
        return FolderDataset(
            self.name,
            train.class_names,
            self.image_size,
            IMAGENET,
            self.augmentation,
            ResizeAndCenterCrop(self.crop_fraction),
            self.equalization,
            {"train": train, "validation": validation, "test": test or train.select(train.labels[:0])},
            _default_num_workers() if self.num_workers is None else self.num_workers,
        )


def _held_out(directory: Path, names: tuple[str, ...], train: FolderIndex) -> FolderIndex | None:
    """The folder under one of these names, with the classes of `train`."""
    folders = [directory / name for name in names if (directory / name).is_dir()]
    if len(folders) > 1:
        raise ValueError(f"{directory} holds both {' and '.join(names)}; remove one of them")
    if not folders:
        return None
    index = read_index(folders[0])
    for name in sorted(set(train.class_names) ^ set(index.class_names)):
        lacking = folders[0] if name in train.class_names else directory / "train"
        raise ValueError(f"{lacking} lacks the class folder {name}; all splits must hold the same classes")
    return index


def _default_num_workers() -> int:
    """One per processor this process may use; processes that torchrun starts on one machine share them."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    num_processes = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    return max(1, min(LARGEST_DEFAULT_NUM_WORKERS, usable // num_processes))
