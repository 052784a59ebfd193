"""The ten patterns of the embedded data, as grey fields: where an image is on one side, and where on the other.

Colours come later. Position, size and tilt of every pattern are random.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float32
from torch import Generator, Tensor

IMAGE_SIZE = (32, 32)
ROWS = torch.arange(IMAGE_SIZE[0], dtype=torch.float32).view(-1, 1)
COLUMNS = torch.arange(IMAGE_SIZE[1], dtype=torch.float32).view(1, -1)

Fields = Float32[Tensor, "i h w"]
Numbers = Float32[Tensor, "i 1 1"]
"""One number per image."""

Pattern = Callable[[int, Generator], Fields]

TILT = math.radians(12)
"""Stripes and checkerboards lean by up to so much from their direction."""


def between(low: float, high: float, num_images: int, generator: Generator) -> Numbers:
    return low + (high - low) * torch.rand(num_images, 1, 1, generator=generator)


def stripes(angle: float) -> Pattern:
    """Waves whose crests run at `angle` (in degrees) to the horizontal, counted from east to north."""

    def field(num_images: int, generator: Generator) -> Fields:
        lean = math.radians(angle) + between(-TILT, TILT, num_images, generator)
        across = ROWS * lean.cos() + COLUMNS * lean.sin()
        period = between(5.0, 9.0, num_images, generator)
        return (2 * math.pi * (across / period + between(0.0, 1.0, num_images, generator))).cos()

    return field


def checkerboard(num_images: int, generator: Generator) -> Fields:
    lean = between(-TILT, TILT, num_images, generator)
    period = between(8.0, 13.0, num_images, generator)
    down = (ROWS * lean.cos() + COLUMNS * lean.sin()) / period + between(0.0, 1.0, num_images, generator)
    along = (COLUMNS * lean.cos() - ROWS * lean.sin()) / period + between(0.0, 1.0, num_images, generator)
    return (2 * math.pi * down).cos() * (2 * math.pi * along).cos()


def rings(num_images: int, generator: Generator) -> Fields:
    row, column = between(8.0, 23.0, num_images, generator), between(8.0, 23.0, num_images, generator)
    period = between(5.0, 9.0, num_images, generator)
    distance = torch.hypot(ROWS - row, COLUMNS - column)
    return (2 * math.pi * (distance / period + between(0.0, 1.0, num_images, generator))).cos()


def rays(num_images: int, generator: Generator) -> Fields:
    row, column = between(8.0, 23.0, num_images, generator), between(8.0, 23.0, num_images, generator)
    num_rays = between(4.0, 8.0, num_images, generator).floor()
    direction = torch.atan2(ROWS - row, COLUMNS - column)
    return (num_rays * direction + between(0.0, 2 * math.pi, num_images, generator)).cos()


def dots(num_images: int, generator: Generator) -> Fields:
    return _scattered(_squared_distance_to_point, num_images, generator)


def crosses(num_images: int, generator: Generator) -> Fields:
    return _scattered(_squared_distance_to_cross, num_images, generator)


def blobs(num_images: int, generator: Generator) -> Fields:
    """Smoothed noise: spots of no particular shape or direction."""
    return smooth_noise(2.0, num_images, generator)


def smooth_noise(width: float, num_images: int, generator: Generator) -> Fields:
    """Noise of mean 0 and variance 1, blurred with a Gaussian of this standard deviation (in pixels)."""
    noise = torch.rand(num_images, *IMAGE_SIZE, generator=generator) - 0.5
    rows, columns = ((-((axis - axis.mT) ** 2) / (2 * width**2)).exp() for axis in (ROWS, COLUMNS))
    return standardized(rows @ noise @ columns)


def standardized(fields: Fields) -> Fields:
    deviation, mean = torch.std_mean(fields, dim=(1, 2), keepdim=True)
    return (fields - mean) / deviation


def _scattered(figure: Callable[[Tensor, Tensor], Tensor], num_images: int, generator: Generator) -> Fields:
    """Minus the distance to the nearest of 16 figures, one in every cell of a shifted 4 x 4 lattice."""
    spacing = 11.0
    row_shift, column_shift = (between(0.0, spacing, num_images, generator) for _ in range(2))
    nearest = torch.full((num_images, *IMAGE_SIZE), math.inf)
    for cell in range(16):
        row = spacing * (cell // 4) - row_shift + between(-2.0, 2.0, num_images, generator)
        column = spacing * (cell % 4) - column_shift + between(-2.0, 2.0, num_images, generator)
        nearest = torch.minimum(nearest, figure((ROWS - row).abs(), (COLUMNS - column).abs()))
    return -nearest.sqrt()


def _squared_distance_to_point(down: Float32[Tensor, "i h 1"], along: Float32[Tensor, "i 1 w"]) -> Fields:
    return down**2 + along**2


def _squared_distance_to_cross(down: Float32[Tensor, "i h 1"], along: Float32[Tensor, "i 1 w"]) -> Fields:
    """The nearer one of two bars that reach 4 pixels to each side."""
    vertical_bar = (down - 4).clamp(min=0) ** 2 + along**2
    horizontal_bar = down**2 + (along - 4).clamp(min=0) ** 2
    return torch.minimum(vertical_bar, horizontal_bar)


PATTERNS: dict[str, Pattern] = {
    "horizontal stripes": stripes(0.0),
    "rising stripes": stripes(45.0),
    "vertical stripes": stripes(90.0),
    "falling stripes": stripes(135.0),
    "checkerboard": checkerboard,
    "rings": rings,
    "rays": rays,
    "dots": dots,
    "crosses": crosses,
    "blobs": blobs,
}
"""What is seen -> how it is drawn."""
