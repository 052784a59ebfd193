"""The images that figures show, as the model takes them and as people see them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from PIL import Image
from torch import Tensor

from headgrid.cli.data_argument import final_split
from headgrid.data import Dataset, Normalization
from headgrid.data.image_decoding import ResizeAndCenterCrop


@dataclass(frozen=True)
class Example:
    """One image."""

    name: str
    """Its number in the data set, or the file's name; files of figures end in it."""
    images: Float[Tensor, "1 c h w"]
    """What the model takes."""
    pixels: Float[ndarray, "h w c"]
    """What people see, between 0 and 1."""

    @property
    def label(self) -> str:
        """What figures call it."""
        return f"image {self.name}" if self.name.isdigit() else self.name


def example_of_data(data: Dataset, number: int) -> Example:
    """The test image (validation image where there are none) of this number."""
    split = final_split(data)
    if number >= data.num_images[split]:
        raise ValueError(
            f"--images {number}: {data.name} has {data.num_images[split]} {split} images, counted from 0"
        )
    images, _ = next(iter(data.evaluation_batches(split, 1).epoch(0, number)))
    pixels = data.normalization.undo(images)[0].permute(1, 2, 0).numpy() / 255
    return Example(str(number), images, pixels)


def example_of_file(path: Path, image_size: tuple[int, int], normalization: Normalization) -> Example:
    """A picture of one's own, brought to the size of the model's images; what reaches beyond is cut off."""
    try:
        with Image.open(path) as image:
            shown = ResizeAndCenterCrop(1.0).view(image, image_size, [])
    except (OSError, Image.DecompressionBombError) as error:
        raise ValueError(f"--images {path}: the file cannot be read as an image ({error})") from error
    grey = len(normalization.mean) == 1
    pixels = np.atleast_3d(np.array(shown.convert("L") if grey else shown))
    images = normalization.apply(torch.from_numpy(pixels).movedim(-1, 0)[None])
    return Example(path.stem, images, pixels / 255)


def spread_over(data: Dataset, most: int) -> tuple[str, ...]:
    """Numbers of so many images, from all parts of the data set: folders of images are sorted by class."""
    number = data.num_images[final_split(data)]
    places = np.linspace(0, number - 1, min(most, number)).round().astype(int)
    return tuple(map(str, places))
