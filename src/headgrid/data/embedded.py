"""A small data set that needs no file: ten patterns that only comparing neighbouring pixels tells apart.

Colours give nothing away. The pixels of every image are ranked, and each takes its value from its rank, so that
all images consist of the same 1,024 values, arranged differently. Random colours, drawn alike for all classes,
stand for the lowest, the middle and the highest value. What tells the classes apart is only which values stand
side by side.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Float32
from torch import Generator, Tensor

from headgrid.data.augmentation import CropAndFlip, NoAugmentation
from headgrid.data.dataset import Dataset, Normalization
from headgrid.data.embedded_patterns import IMAGE_SIZE, PATTERNS, Fields, between, smooth_noise, standardized
from headgrid.data.random_stream import Purpose, random_stream
from headgrid.data.tensor_dataset import LabelledImages, TensorDataset

SMOOTH_NOISE = 0.7
"""Noise that hides parts of a pattern, relative to the pattern."""
PIXEL_NOISE = 0.5
"""Noise of single pixels, relative to the pattern."""


@dataclass(frozen=True)
class Embedded:
    """Generated images of 32 x 32 pixels in ten classes: stripes, checkerboards, rings, dots, crosses, ..."""

    num_train: int = 5000
    """Training images."""
    num_validation: int = 500
    """Images for choosing models."""
    num_test: int = 1000
    """Test images."""
    seed: int = 0
    """Seed of the pictures; each split has its own random numbers, so that sizes do not influence each other."""
    augmentation: CropAndFlip | NoAugmentation = field(default_factory=NoAugmentation)
    """Random changes of the training images; no mirroring, which turns rising stripes into falling ones."""

    name: ClassVar[str] = "embedded"
    class_names: ClassVar[tuple[str, ...]] = tuple(PATTERNS)
    num_classes: ClassVar[int] = len(PATTERNS)
    num_channels: ClassVar[int] = 3
    image_size: ClassVar[tuple[int, int]] = IMAGE_SIZE

    def __post_init__(self) -> None:
        if self.num_train < 1 or self.num_validation < 0 or self.num_test < 0:
            raise ValueError(
                f"the embedded data need at least one training image and no negative number of images, not "
                f"num_train {self.num_train}, num_validation {self.num_validation}, num_test {self.num_test}"
            )
        if isinstance(self.augmentation, CropAndFlip) and self.augmentation.flip_probability:
            raise ValueError(
                "mirroring turns rising stripes into falling ones: on the embedded data, set the augmentation's "
                "flip_probability to 0"
            )

    def load(self) -> Dataset:
        train, validation, test = (
            _draw(num_images, self.seed, split)
            for split, num_images in enumerate((self.num_train, self.num_validation, self.num_test))
        )
        normalization = Normalization((0.5, 0.5, 0.5), (0.124, 0.124, 0.124))
        return TensorDataset(self.name, self.class_names, normalization, self.augmentation, train, validation, test)


def _draw(num_images: int, seed: int, split: int) -> LabelledImages:
    """Image i belongs to class i modulo 10; each class has random numbers of its own."""
    images = torch.empty(num_images, 3, *IMAGE_SIZE, dtype=torch.uint8)
    for label, pattern in enumerate(PATTERNS.values()):
        if num_of_class := len(range(label, num_images, len(PATTERNS))):
            generator = random_stream(seed, Purpose.PICTURES, split, label)
            fields = standardized(pattern(num_of_class, generator))
            fields += SMOOTH_NOISE * smooth_noise(2.5, num_of_class, generator)
            fields += PIXEL_NOISE * smooth_noise(0.1, num_of_class, generator)
            images[label :: len(PATTERNS)] = _paint(ranked(fields), generator)
    return LabelledImages(images, torch.arange(num_images) % len(PATTERNS))


def ranked(fields: Fields) -> Fields:
    """Every pixel's rank in its image, from -1 to 1 in equal steps."""
    num_pixels = fields[0].numel()
    order = fields.flatten(1).argsort(dim=1)
    values = torch.linspace(-1, 1, num_pixels).expand(len(fields), -1)
    return torch.empty_like(values).scatter_(1, order, values).view_as(fields)


def _paint(values: Fields, generator: Generator) -> Float32[Tensor, "i 3 h w"]:
    """A colour for the middle, and a way through the colour cube from dark (-1) to bright (1)."""
    num_images = len(values)
    middle = 0.4 + 0.2 * torch.rand(num_images, 3, 1, 1, generator=generator)
    direction = 0.2 + 1.6 * torch.rand(num_images, 3, 1, 1, generator=generator)
    reach = between(0.25, 0.4, num_images, generator)[:, None] / direction.norm(dim=1, keepdim=True)
    return (255 * (middle + reach * direction * values[:, None])).round_()
