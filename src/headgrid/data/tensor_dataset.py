"""A data set that stands in memory as bytes, on the device that uses it."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Int64
from torch import Tensor

from headgrid.axes import ByteImages, Images, Labels
from headgrid.data.augmentation import CropAndFlip, NoAugmentation
from headgrid.data.batch_plan import BatchPlan, PlannedBatch, ShuffledOrder, evaluation_plan
from headgrid.data.dataset import Dataset, Normalization, Split
from headgrid.data.equalization import Equalization


@dataclass(frozen=True)
class LabelledImages:
    images: ByteImages
    labels: Labels

    def select(self, indices: Int64[Tensor, "i"]) -> "LabelledImages":
        return LabelledImages(self.images[indices], self.labels[indices])

    def to(self, device: str | torch.device) -> "LabelledImages":
        return LabelledImages(self.images.to(device), self.labels.to(device))


@dataclass(frozen=True)
class TensorBatches:
    """Augmented and normalised where the data stand, a whole batch at once."""

    data: LabelledImages
    plan: BatchPlan
    augmentation: CropAndFlip | NoAugmentation
    normalization: Normalization

    @property
    def num_images(self) -> int:
        return self.plan.num_images

    @property
    def batch_size(self) -> int:
        return self.plan.batch_size

    def __len__(self) -> int:
        return len(self.plan)

    def __iter__(self) -> Iterator[tuple[Images, Labels]]:
        return self.epoch()

    def epoch(self, epoch: int = 0, first_batch: int = 0) -> Iterator[tuple[Images, Labels]]:
        return map(self._batch, self.plan.epoch(epoch, first_batch))

    def _batch(self, planned: PlannedBatch) -> tuple[Images, Labels]:
        indices = planned.indices.to(self.data.images.device)
        images = self.augmentation.apply(self.data.images.index_select(0, indices), planned.uniforms)
        return self.normalization.apply(images), self.data.labels.index_select(0, indices)


class TensorDataset(Dataset):
    """Images as bytes; crop, flip and normalisation happen batch by batch."""

    def __init__(
        self,
        name: str,
        class_names: tuple[str, ...],
        normalization: Normalization,
        augmentation: CropAndFlip | NoAugmentation,
        train: LabelledImages,
        validation: LabelledImages,
        test: LabelledImages,
    ) -> None:
        self.name = name
        self.class_names = class_names
        self.normalization = normalization
        self.augmentation = augmentation
        self.num_channels = train.images.shape[1]
        self.image_size = (train.images.shape[2], train.images.shape[3])
        self.splits: dict[Split, LabelledImages] = {"train": train, "validation": validation, "test": test}
        self.num_images = {split: len(data.labels) for split, data in self.splits.items()}
        self._on_device: dict[tuple[Split, torch.device], LabelledImages] = {}

    def training_batches(
        self,
        batch_size: int,
        seed: int,
        device: str | torch.device = "cpu",
        rank: int = 0,
        world_size: int = 1,
    ) -> TensorBatches:
        self.check_not_empty("train")
        plan = BatchPlan(
            self.num_images["train"],
            batch_size,
            ShuffledOrder(seed),
            self.augmentation.num_uniforms,
            rank,
            world_size,
        )
        return TensorBatches(self._data("train", device), plan, self.augmentation, self.normalization)

    def evaluation_batches(
        self, split: Split, batch_size: int, device: str | torch.device = "cpu", sample: int | None = None
    ) -> TensorBatches:
        self.check_not_empty(split)
        plan = evaluation_plan(self.splits[split].labels, batch_size, sample)
        return TensorBatches(self._data(split, device), plan, NoAugmentation(), self.normalization)

    def equalized(self, equalization: Equalization) -> "TensorDataset":
        """The same images with their histograms equalised."""
        train, validation, test = (
            LabelledImages(equalization.apply(data.images), data.labels) for data in self.splits.values()
        )
        return TensorDataset(
            self.name, self.class_names, self.normalization, self.augmentation, train, validation, test
        )

    def _data(self, split: Split, device: str | torch.device) -> LabelledImages:
        """A split is copied to a device once."""
        key = (split, torch.device(device))
        if key not in self._on_device:
            self._on_device[key] = self.splits[split].to(device)
        return self._on_device[key]
