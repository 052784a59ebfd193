"""Histogram equalisation: every image's values are spread so that each level is used about equally often.

The student report on SAN shows such images (its figure 6) and does not say what is equalised, so both usual
readings are there: every colour channel by itself, or the luminance alone. Images are equalised one by one, as
bytes, when they have been read (and, in a folder of images, cut out and brought to their size), before
crop-and-flip and the normalisation, for training and evaluation alike.
"""

from dataclasses import dataclass

import torch
from jaxtyping import UInt8
from torch import Tensor

from headgrid.axes import ByteImages

LEVELS = 256

RED, GREEN, BLUE = 0.299, 0.587, 0.114
"""Weights of the luminance (ITU-R 601)."""

IMAGES_AT_ONCE = 500
"""Bounds the memory of a whole data set."""


@dataclass(frozen=True)
class NoEqualization:
    """Images as they are."""

    def apply(self, images: ByteImages) -> ByteImages:
        return images


@dataclass(frozen=True)
class ChannelEqualization:
    """Red, green and blue each by itself, as Pillow's `ImageOps.equalize` does it; colours may change."""

    def apply(self, images: ByteImages) -> ByteImages:
        return torch.cat([equalize(part) for part in images.split(IMAGES_AT_ONCE)])


@dataclass(frozen=True)
class LuminanceEqualization:
    """The luminance alone: all channels of a pixel change by the same amount, so colour differences stay."""

    def apply(self, images: ByteImages) -> ByteImages:
        return torch.cat([self._apply(part) for part in images.split(IMAGES_AT_ONCE)])

    def _apply(self, images: ByteImages) -> ByteImages:
        before = luminance(images)
        change = equalize(before).short() - before.short()
        return (images.short() + change).clamp_(0, LEVELS - 1).to(torch.uint8)


Equalization = NoEqualization | ChannelEqualization | LuminanceEqualization


def equalize(images: ByteImages) -> ByteImages:
    """Each channel of each image by itself.

    A level goes to the number of darker pixels, in steps of `num_pixels / 255`. The rounding is Pillow's: steps
    are whole numbers, the pixels of the brightest level do not count, and a channel of fewer than
    256 other pixels stays as it is.
    """
    levels = images.flatten(2).long()
    counts = torch.zeros(*images.shape[:2], LEVELS, dtype=torch.int64, device=images.device)
    counts.scatter_add_(2, levels, torch.ones_like(levels))
    brightest = levels.amax(2, keepdim=True)
    steps = (levels.shape[2] - counts.gather(2, brightest)) // (LEVELS - 1)
    darker = counts.cumsum(2) - counts
    table = (steps // 2 + darker) // steps.clamp(min=1)
    table = torch.where(steps > 0, table.clamp(max=LEVELS - 1), torch.arange(LEVELS, device=images.device))
    return table.gather(2, levels).to(torch.uint8).view_as(images)


def luminance(images: ByteImages) -> UInt8[Tensor, "b 1 h w"]:
    """The brightness of each pixel, one channel; of grey images, the image itself."""
    if images.shape[1] == 1:
        return images
    weights = torch.tensor([RED, GREEN, BLUE], dtype=torch.float64, device=images.device)
    return torch.einsum("b c h w, c -> b h w", images.double(), weights).round_().to(torch.uint8)[:, None]
