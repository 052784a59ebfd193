"""A data set that stays on disk: worker processes decode the batches ahead of the training."""

import signal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import DataLoader

from headgrid.axes import Images, Labels
from headgrid.data.augmentation import CropAndFlip, NoAugmentation, RandomResizedCropAndFlip
from headgrid.data.batch_plan import BatchPlan, PlannedBatch, ShuffledOrder, evaluation_plan
from headgrid.data.dataset import Dataset, Normalization, Split
from headgrid.data.equalization import Equalization
from headgrid.data.folder_index import FolderIndex
from headgrid.data.image_decoding import (
    Decoder,
    DecodeRequest,
    RandomWindow,
    ResizeAndCenterCrop,
    Unreadable,
)


@dataclass(frozen=True)
class FolderBatches:
    """Decoded by workers that start with an epoch and end with it, however it ends."""

    data: FolderIndex
    plan: BatchPlan
    decoder: Decoder
    augmentation: CropAndFlip | NoAugmentation
    """Of decoded batches."""
    normalization: Normalization
    device: torch.device
    num_workers: int

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
        requested, received = self.plan.epoch(epoch, first_batch), self.plan.epoch(epoch, first_batch)
        return self._decoded(requested, received, len(self) - first_batch)

    def _decoded(
        self, requested: Iterator[PlannedBatch], received: Iterator[PlannedBatch], num_batches: int
    ) -> Iterator[tuple[Images, Labels]]:
        """The plan twice: the workers are asked for batches ahead of those that are handed out."""
        requests = (
            DecodeRequest([self.data.files[index] for index in batch.indices.tolist()], batch.uniforms.tolist())
            for batch in requested
        )
        loader = DataLoader(
            self.decoder,
            sampler=requests,  # each is a whole batch
            batch_size=None,
            num_workers=min(self.num_workers, num_batches),
            collate_fn=_as_it_is,
            pin_memory=self.device.type == "cuda",
            worker_init_fn=_leave_interrupts_to_the_parent,
            generator=torch.Generator(),  # otherwise it would draw a number from the global one
        )
        for batch, decoded in zip(received, loader, strict=True):
            if isinstance(decoded, Unreadable):
                raise ValueError(decoded.message)
            images = self.augmentation.apply(decoded.to(self.device, non_blocking=True), batch.uniforms)
            yield self.normalization.apply(images), self.data.labels[batch.indices].to(self.device)


def _as_it_is(decoded: Any) -> Any:
    return decoded


def _leave_interrupts_to_the_parent(worker: int) -> None:
    """Ctrl-C reaches every process of a terminal; the workers must outlive it while the parent saves."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class FolderDataset(Dataset):
    """Image files; decoding, crop, flip and normalisation happen batch by batch."""

    def __init__(
        self,
        name: str,
        class_names: tuple[str, ...],
        image_size: tuple[int, int],
        normalization: Normalization,
        augmentation: RandomResizedCropAndFlip | CropAndFlip | NoAugmentation,
        evaluation_view: ResizeAndCenterCrop,
        equalization: Equalization,
        splits: dict[Split, FolderIndex],
        num_workers: int,
    ) -> None:
        self.name = name
        self.class_names = class_names
        self.image_size = image_size
        self.num_channels = 3
        self.normalization = normalization
        self.augmentation = augmentation
        self.evaluation_view = evaluation_view
        self.equalization = equalization
        self.splits = splits
        self.num_images = {split: len(data.files) for split, data in splits.items()}
        self.num_workers = num_workers

    def training_batches(
        self,
        batch_size: int,
        seed: int,
        device: str | torch.device = "cpu",
        rank: int = 0,
        world_size: int = 1,
    ) -> FolderBatches:
        order = ShuffledOrder(seed)
        num_uniforms = self.augmentation.num_uniforms
        plan = BatchPlan(self.num_images["train"], batch_size, order, num_uniforms, rank, world_size)
        if isinstance(self.augmentation, RandomResizedCropAndFlip):
            return self._batches("train", plan, RandomWindow(self.augmentation), NoAugmentation(), device)
        return self._batches("train", plan, self.evaluation_view, self.augmentation, device)

    def evaluation_batches(
        self, split: Split, batch_size: int, device: str | torch.device = "cpu", sample: int | None = None
    ) -> FolderBatches:
        self.check_not_empty(split)
        plan = evaluation_plan(self.splits[split].labels, batch_size, sample)
        return self._batches(split, plan, self.evaluation_view, NoAugmentation(), device)

    def _batches(
        self,
        split: Split,
        plan: BatchPlan,
        view: ResizeAndCenterCrop | RandomWindow,
        augmentation: CropAndFlip | NoAugmentation,
        device: str | torch.device,
    ) -> FolderBatches:
        self.check_not_empty(split)
        return FolderBatches(
            self.splits[split],
            plan,
            Decoder(self.image_size, view, self.equalization),
            augmentation,
            self.normalization,
            torch.device(device),
            self.num_workers,
        )
