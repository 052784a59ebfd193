"""What a data set offers: named splits of images, handed out as normalised batches.

Everything random follows from (seed, epoch, number of the batch), so a run can go on at any batch of any epoch
and sees exactly what it would have seen without the interruption.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import torch

from headgrid.axes import ByteImages, Images, Labels

Split = Literal["train", "validation", "test"]
"""Train on the first, select models on the second, touch the third once, at the end."""


@dataclass(frozen=True)
class Normalization:
    """Bytes to numbers around zero: divide by 255, subtract the mean, divide by the standard deviation."""

    mean: tuple[float, ...]
    """Mean of each channel, on a scale from 0 to 1."""
    std: tuple[float, ...]
    """Standard deviation of each channel, on a scale from 0 to 1."""

    def __post_init__(self) -> None:
        if len(self.mean) != len(self.std) or not all(value > 0 for value in self.std):
            raise ValueError(
                f"a normalization takes one mean and one positive standard deviation per channel, "
                f"not mean {self.mean} with std {self.std}"
            )

    def apply(self, images: ByteImages) -> Images:
        mean = torch.tensor(self.mean, device=images.device).view(-1, 1, 1)
        std = torch.tensor(self.std, device=images.device).view(-1, 1, 1)
        return images.float().div_(255).sub_(mean).div_(std)

    def undo(self, images: Images) -> ByteImages:
        """The bytes that `apply` came from: for showing a batch as pictures."""
        mean = torch.tensor(self.mean, device=images.device).view(-1, 1, 1)
        std = torch.tensor(self.std, device=images.device).view(-1, 1, 1)
        return images.float().mul(std).add_(mean).mul_(255).round_().clamp_(0, 255).to(torch.uint8)


@runtime_checkable
class Batches(Protocol):
    """An epoch of batches, again and again."""

    @property
    def num_images(self) -> int:
        """Images of one epoch, over all processes."""
        ...

    @property
    def batch_size(self) -> int:
        """Images of a full batch in this process."""
        ...

    def __len__(self) -> int:
        """Batches of one epoch."""
        ...

    def epoch(self, epoch: int = 0, first_batch: int = 0) -> Iterator[tuple[Images, Labels]]:
        """Batches of an epoch from `first_batch` on; those before it cost nothing."""
        ...

    def __iter__(self) -> Iterator[tuple[Images, Labels]]: ...


class Dataset(ABC):
    """Images in three splits; a split may be empty, then `num_images` says 0."""

    name: str
    class_names: tuple[str, ...]
    image_size: tuple[int, int]
    """Rows and columns."""
    num_channels: int
    normalization: Normalization
    num_images: dict[Split, int]

    @property
    def num_classes(self) -> int:
        return len(self.class_names)

    @abstractmethod
    def training_batches(
        self,
        batch_size: int,
        seed: int,
        device: str | torch.device = "cpu",
        rank: int = 0,
        world_size: int = 1,
    ) -> Batches:
        """Shuffled and augmented.

        `batch_size` counts the images of one process. The processes of a group share a global batch: the one
        that a single process with `world_size * batch_size` images would see, random numbers included.
        """

    @abstractmethod
    def evaluation_batches(
        self, split: Split, batch_size: int, device: str | torch.device = "cpu", sample: int | None = None
    ) -> Batches:
        """In the stored order, not augmented; all images, or a sample of so many with each class in proportion."""

    def check_not_empty(self, split: Split) -> None:
        if not self.num_images[split]:
            present = ", ".join(name for name, num_images in self.num_images.items() if num_images)
            raise ValueError(f"data set {self.name} has no {split} images, only: {present}")
