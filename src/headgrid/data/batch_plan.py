"""Which images stand in which batch of which epoch, and the random numbers each of them gets.

With `world_size` processes a *global* batch holds `world_size * batch_size` consecutive images of the epoch's
order. All processes draw the random numbers of the whole global batch and keep their part, so that together they
see what one process with the large batch would see.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from headgrid.axes import Labels
from headgrid.data.random_stream import Purpose, random_stream


class PlannedBatch(NamedTuple):
    indices: Int64[Tensor, "b"]
    """Where the images of this process stand in the data set."""
    uniforms: Float64[Tensor, "b r"]
    """r random numbers from [0, 1) for each of them."""


@dataclass(frozen=True)
class StoredOrder:
    """The order of the data set."""


@dataclass(frozen=True)
class SampledOrder:
    """So many images, each class in proportion, in the order of the data set; the same in every epoch."""

    labels: Labels
    num_images: int
    seed: int = 0

    def indices(self) -> Int64[Tensor, "i"]:
        """Evenly spaced places in the images sorted by class, those of one class shuffled."""
        shuffled = torch.randperm(len(self.labels), generator=random_stream(self.seed, Purpose.SPLIT))
        by_class = shuffled[self.labels.cpu()[shuffled].argsort(stable=True)]
        places = torch.arange(self.num_images) * len(self.labels) // self.num_images
        return by_class[places].sort().values


@dataclass(frozen=True)
class ShuffledOrder:
    """Another order in every epoch."""

    seed: int


@dataclass(frozen=True)
class BatchPlan:
    """The batches of every epoch, for one process of a group."""

    num_stored_images: int
    batch_size: int
    order: StoredOrder | SampledOrder | ShuffledOrder
    num_uniforms: int = 0
    """Random numbers per image; only a shuffled order has any."""
    rank: int = 0
    world_size: int = 1

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, not {self.batch_size}")
        if not 0 <= self.rank < self.world_size:
            raise ValueError(f"rank must be from 0 to {self.world_size - 1}, not {self.rank}")

    @property
    def num_images(self) -> int:
        """Images of an epoch: all, unless the last global batch has fewer images than there are processes."""
        num_left = self.num_stored_images % self.global_batch_size
        return self.num_stored_images - (num_left if num_left < self.world_size else 0)

    @property
    def global_batch_size(self) -> int:
        return self.world_size * self.batch_size

    def __len__(self) -> int:
        return -(-self.num_images // self.global_batch_size)

    def epoch(self, epoch: int = 0, first_batch: int = 0) -> Iterator[PlannedBatch]:
        if epoch < 0 or not 0 <= first_batch <= len(self):
            raise ValueError(
                f"epochs count from 0 and first_batch goes up to the {len(self)} batches of an epoch, "
                f"not epoch {epoch} with first_batch {first_batch}"
            )
        return self._planned(epoch, first_batch)

    def _planned(self, epoch: int, first_batch: int) -> Iterator[PlannedBatch]:
        order = self._order(epoch)
        for batch in range(first_batch, len(self)):
            start = batch * self.global_batch_size
            images = order[start : min(start + self.global_batch_size, self.num_images)]
            uniforms = self._uniforms(len(images), epoch, batch)
            # Full batches give every process batch_size images; the last one is shared as evenly as possible.
            part = slice(
                len(images) * self.rank // self.world_size, len(images) * (self.rank + 1) // self.world_size
            )
            yield PlannedBatch(images[part], uniforms[part])

    def _order(self, epoch: int) -> Int64[Tensor, "i"]:
        match self.order:
            case StoredOrder():
                return torch.arange(self.num_stored_images)
            case SampledOrder():
                return self.order.indices()
            case ShuffledOrder(seed):
                generator = random_stream(seed, Purpose.ORDER, epoch)
                return torch.randperm(self.num_stored_images, generator=generator)

    def _uniforms(self, num_images: int, epoch: int, batch: int) -> Float64[Tensor, "b r"]:
        match self.order:
            case StoredOrder() | SampledOrder():
                return torch.zeros(num_images, 0, dtype=torch.float64)
            case ShuffledOrder(seed):
                generator = random_stream(seed, Purpose.AUGMENTATION, epoch, batch)
                return torch.rand(num_images, self.num_uniforms, generator=generator, dtype=torch.float64)


def evaluation_plan(labels: Labels, batch_size: int, sample: int | None) -> BatchPlan:
    """All images of a split, or a sample of so many."""
    if sample is None:
        return BatchPlan(len(labels), batch_size, StoredOrder())
    if not 1 <= sample <= len(labels):
        raise ValueError(f"{sample} images cannot be taken: expected a number from 1 to {len(labels)}")
    return BatchPlan(sample, batch_size, SampledOrder(labels, sample))
