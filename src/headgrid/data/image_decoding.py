"""From image files to bytes of one size: what the worker processes do."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset

from headgrid.axes import ByteImages
from headgrid.data.augmentation import RandomResizedCropAndFlip
from headgrid.data.equalization import Equalization

DRAFT_MARGIN = 2.0
"""A JPEG is decoded at a half, a quarter or an eighth of its size where it stays this many times too large."""


@dataclass(frozen=True)
class ResizeAndCenterCrop:
    """The whole image, resized so that its center of the wanted size is `crop_fraction` of the tight side."""

    crop_fraction: float

    def view(self, image: Image.Image, image_size: tuple[int, int], uniforms: list[float]) -> Image.Image:
        rows, columns = image_size
        tall, wide = rows / self.crop_fraction, columns / self.crop_fraction
        if tall * image.width >= wide * image.height:
            height, width = round(tall), max(columns, int(tall * image.width / image.height))
        else:
            height, width = max(rows, int(wide * image.height / image.width)), round(wide)
        whole = resized_window(image, (0, 0, image.width, image.height), (height, width))
        top, left = round((height - rows) / 2), round((width - columns) / 2)
        return whole.crop((left, top, left + columns, top + rows))


@dataclass(frozen=True)
class RandomWindow:
    """A random part of the image, perhaps mirrored."""

    augmentation: RandomResizedCropAndFlip

    def view(self, image: Image.Image, image_size: tuple[int, int], uniforms: list[float]) -> Image.Image:
        window = self.augmentation.window(image.height, image.width, uniforms)
        part = resized_window(image, window, image_size)
        if self.augmentation.flips(uniforms):
            return part.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return part


def resized_window(image: Image.Image, window: tuple[int, int, int, int], size: tuple[int, int]) -> Image.Image:
    """`window` (left, top, right, bottom) of a file that was opened and not read yet, as `size` (rows, columns)."""
    left, top, right, bottom = window
    rows, columns = size
    width, height = image.size
    reduction = min((right - left) / columns, (bottom - top) / rows) / DRAFT_MARGIN
    scale = 1.0
    if reduction >= 2:
        drafted = image.draft(None, (math.ceil(width / reduction), math.ceil(height / reduction)))
        if drafted is not None:  # only JPEG files can
            scale = drafted[1][2] / width
    box = (left * scale, top * scale, right * scale, bottom * scale)
    colours = image if image.mode == "RGB" else image.convert("RGB")
    return colours.resize((columns, rows), Image.Resampling.BILINEAR, box=box)


class DecodeRequest(NamedTuple):
    """A batch that one worker decodes."""

    files: list[str]
    uniforms: list[list[float]]


class Unreadable(NamedTuple):
    """Why a batch could not be decoded; raised as an error by the process that asked."""

    message: str


class Decoder(Dataset[ByteImages | Unreadable]):
    """Decodes the requests that are its keys."""

    def __init__(
        self, image_size: tuple[int, int], view: ResizeAndCenterCrop | RandomWindow, equalization: Equalization
    ) -> None:
        self.image_size = image_size
        self.view = view
        self.equalization = equalization

    def __getitem__(self, index: DecodeRequest) -> ByteImages | Unreadable:
        images = np.empty((len(index.files), *self.image_size, 3), dtype=np.uint8)
        for number, (file, uniforms) in enumerate(zip(index.files, index.uniforms, strict=True)):
            try:
                with Image.open(file) as image:
                    images[number] = np.asarray(self.view.view(image, self.image_size, uniforms))
            except Exception as error:  # a damaged file fails in as many ways as there are formats
                return Unreadable(
                    f"{file} cannot be read as an image ({type(error).__name__}: {error}); replace or remove it"
                )
        return self.equalization.apply(torch.from_numpy(images).permute(0, 3, 1, 2).contiguous())
