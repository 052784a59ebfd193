"""CIFAR-10 and CIFAR-100 (Krizhevsky 2009), from either of their published layouts."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from headgrid.data.augmentation import CropAndFlip, NoAugmentation
from headgrid.data.cifar_files import load_cifar
from headgrid.data.cifar_releases import CIFAR_10, CIFAR_100
from headgrid.data.dataset import Dataset
from headgrid.data.equalization import Equalization, NoEqualization


@dataclass(frozen=True)
class Cifar10:
    """CIFAR-10: 50,000 training and 10,000 test images of 32 x 32 pixels in ten classes."""

    directory: Path | None = None
    """Folder with cifar-10-batches-bin or -py; otherwise HEADGRID_DATA, then the cache, then a download."""
    num_validation: int = 5000
    """Training images put aside for choosing models, evenly from all classes."""
    augmentation: CropAndFlip | NoAugmentation = field(default_factory=CropAndFlip)
    """Random changes of the training images."""
    equalization: Equalization = field(default_factory=NoEqualization)
    """What is done to the histogram of every image, before everything else."""
    split_seed: int = 0
    """Seed that says which training images are put aside."""

    name: ClassVar[str] = "cifar10"
    class_names: ClassVar[tuple[str, ...]] = CIFAR_10.class_names
    num_classes: ClassVar[int] = len(CIFAR_10.class_names)
    num_channels: ClassVar[int] = 3
    image_size: ClassVar[tuple[int, int]] = (32, 32)

    def load(self) -> Dataset:
        data = load_cifar(
            CIFAR_10, self.name, self.directory, self.num_validation, self.augmentation, self.split_seed
        )
        return data.equalized(self.equalization)


@dataclass(frozen=True)
class Cifar100:
    """CIFAR-100: 50,000 training and 10,000 test images of 32 x 32 pixels in a hundred (fine) classes."""

    directory: Path | None = None
    """Folder with cifar-100-binary or -python; otherwise HEADGRID_DATA, then the cache, then a download."""
    num_validation: int = 5000
    """Training images put aside for choosing models, evenly from all classes."""
    augmentation: CropAndFlip | NoAugmentation = field(default_factory=CropAndFlip)
    """Random changes of the training images."""
    equalization: Equalization = field(default_factory=NoEqualization)
    """What is done to the histogram of every image, before everything else."""
    split_seed: int = 0
    """Seed that says which training images are put aside."""

    name: ClassVar[str] = "cifar100"
    class_names: ClassVar[tuple[str, ...]] = CIFAR_100.class_names
    num_classes: ClassVar[int] = len(CIFAR_100.class_names)
    num_channels: ClassVar[int] = 3
    image_size: ClassVar[tuple[int, int]] = (32, 32)

    def load(self) -> Dataset:
        data = load_cifar(
            CIFAR_100, self.name, self.directory, self.num_validation, self.augmentation, self.split_seed
        )
        return data.equalized(self.equalization)
