"""Random changes of training images. Each image brings its own random numbers, so batches are exact in any order.

`CropAndFlip` (pad, crop, flip: the usual one for CIFAR) changes whole batches of bytes that are in memory;
`RandomResizedCropAndFlip` (the usual one for ImageNet) says which part of a file is decoded.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float64
from torch import Tensor
from torch.nn.functional import pad

from headgrid.axes import ByteImages


@dataclass(frozen=True)
class NoAugmentation:
    """Images as they are."""

    num_uniforms: ClassVar[int] = 0

    def apply(self, images: ByteImages, uniforms: Float64[Tensor, "b r"]) -> ByteImages:
        return images


@dataclass(frozen=True)
class CropAndFlip:
    """Pad with black, cut out a window of the original size at a random place, mirror some images."""

    padding: int = 4
    """Black pixels added at each side before the window is cut out; also the farthest shift."""
    flip_probability: float = 0.5
    """Probability that an image is mirrored, left to right."""

    num_uniforms: ClassVar[int] = 3

    def __post_init__(self) -> None:
        if self.padding < 0:
            raise ValueError(f"padding must be at least 0, not {self.padding}")
        _check_probability(self.flip_probability)

    def apply(self, images: ByteImages, uniforms: Float64[Tensor, "b r"]) -> ByteImages:
        """One gather for the whole batch, from flat positions in the padded images."""
        b, c, h, w = images.shape
        num_shifts = 2 * self.padding + 1
        shifts = (uniforms[:, :2] * num_shifts).long().to(images.device)
        flipped = (uniforms[:, 2:] < self.flip_probability).to(images.device)
        rows = shifts[:, :1] + torch.arange(h, device=images.device)
        columns = shifts[:, 1:] + torch.arange(w, device=images.device)
        columns = torch.where(flipped, columns.flip(1), columns)
        padded = pad(images, (self.padding,) * 4)
        positions = rows[:, :, None] * padded.shape[3] + columns[:, None, :]
        flat = padded.flatten(2).gather(2, positions.view(b, 1, h * w).expand(b, c, h * w))
        return flat.view(b, c, h, w)


@dataclass(frozen=True)
class RandomResizedCropAndFlip:
    """Cut out a window of random area and aspect ratio, resize it to the image size, mirror some images."""

    scale: tuple[float, float] = (0.08, 1.0)
    """Smallest and largest area of the window, as a share of the image's."""
    ratio: tuple[float, float] = (3 / 4, 4 / 3)
    """Smallest and largest width of the window relative to its height."""
    flip_probability: float = 0.5
    """Probability that an image is mirrored, left to right."""

    num_attempts: ClassVar[int] = 10
    """Windows drawn before the largest central one is taken; each costs two random numbers."""
    num_uniforms: ClassVar[int] = 2 * num_attempts + 3

    def __post_init__(self) -> None:
        if not 0 < self.scale[0] <= self.scale[1] <= 1:
            raise ValueError(f"scale must be two ascending shares of the area from (0, 1], not {self.scale}")
        if not 0 < self.ratio[0] <= self.ratio[1]:
            raise ValueError(f"ratio must be two ascending positive numbers, not {self.ratio}")
        _check_probability(self.flip_probability)

    def window(self, height: int, width: int, uniforms: list[float]) -> tuple[int, int, int, int]:
        """Left, top, right and bottom of the window in an image of this size."""
        row, column = uniforms[-3:-1]
        for area_number, ratio_number in zip(uniforms[:-3:2], uniforms[1:-3:2], strict=True):
            area = height * width * _between(*self.scale, area_number)
            ratio = math.exp(_between(math.log(self.ratio[0]), math.log(self.ratio[1]), ratio_number))
            rows, columns = round(math.sqrt(area / ratio)), round(math.sqrt(area * ratio))
            if 0 < rows <= height and 0 < columns <= width:
                top, left = int(row * (height - rows + 1)), int(column * (width - columns + 1))
                return left, top, left + columns, top + rows
        columns = min(width, max(1, round(height * self.ratio[1])))
        rows = min(height, max(1, round(width / self.ratio[0])))
        left, top = (width - columns) // 2, (height - rows) // 2
        return left, top, left + columns, top + rows

    def flips(self, uniforms: list[float]) -> bool:
        return uniforms[-1] < self.flip_probability


def _between(low: float, high: float, uniform: float) -> float:
    return low + (high - low) * uniform


def _check_probability(probability: float) -> None:
    if not 0 <= probability <= 1:
        raise ValueError(f"flip_probability must be from 0 to 1, not {probability}")
