"""Small image folders for the tests, and a short way to read them."""

import io

import numpy as np
import torch
from PIL import Image, ImageDraw

from headgrid.data import ImageFolder

SIZES = [(40, 30), (30, 40), (64, 20), (20, 64), (35, 35)]
"""Columns and rows of the made images."""


def write_images(folder, num_images, seed):
    folder.mkdir(parents=True)
    numbers = np.random.default_rng(seed)
    for number in range(num_images):
        columns, rows = SIZES[number % len(SIZES)]
        pixels = numbers.integers(0, 256, (rows, columns, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number:03}.png")


def photo(columns, rows):
    """Something like a photograph: soft colours with sharp figures on them."""
    row, column = np.mgrid[:rows, :columns]
    waves = [127 + 100 * np.sin(row / (31 + 11 * c) + column / (47 - 9 * c)) for c in range(3)]
    image = Image.fromarray(np.stack(waves, axis=-1).astype(np.uint8))
    draw = ImageDraw.Draw(image)
    for number in range(12):
        draw.ellipse(
            (number * 45, number * 30, number * 45 + 100, number * 30 + 60), outline=(255, 255, 0), width=5
        )
    return image


def shorten(file):
    content = io.BytesIO()
    photo(300, 200).save(content, "JPEG")
    file.write_bytes(content.getvalue()[:3000])


def small(directory, **changes):
    return ImageFolder(directory, **{"image_size": (12, 16), "num_workers": 0} | changes)


def as_bytes(dataset, images):
    return dataset.normalization.undo(images)


def decoded(dataset, split="test"):
    return torch.cat([as_bytes(dataset, images) for images, _ in dataset.evaluation_batches(split, 3)])


def to_tensor(image):
    return torch.from_numpy(np.array(image.convert("RGB"))).permute(2, 0, 1)
