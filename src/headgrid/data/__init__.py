"""Images and labels: each source is a frozen config whose `load()` hands back a `Dataset`.

Reading order: `dataset` (what a data set offers), `batch_plan` (which image stands in which batch),
`equalization`, `augmentation`, `tensor_dataset` (sets held in memory), then the sources `cifar`, `embedded`,
`image_folder`.
"""

from headgrid.data.augmentation import CropAndFlip, NoAugmentation, RandomResizedCropAndFlip
from headgrid.data.cifar import Cifar10, Cifar100
from headgrid.data.dataset import Batches, Dataset, Normalization, Split
from headgrid.data.embedded import Embedded
from headgrid.data.equalization import ChannelEqualization, LuminanceEqualization, NoEqualization
from headgrid.data.image_folder import ImageFolder

__all__ = [
    "Batches",
    "ChannelEqualization",
    "Cifar10",
    "Cifar100",
    "CropAndFlip",
    "Dataset",
    "Embedded",
    "ImageFolder",
    "LuminanceEqualization",
    "NoAugmentation",
    "NoEqualization",
    "Normalization",
    "RandomResizedCropAndFlip",
    "Split",
]
