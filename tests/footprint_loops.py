"""Footprints walked pixel by pixel: what the tests of local attention compare with."""

import random
from collections.abc import Iterator

from headgrid.ops import Footprint, ReflectionPadding, ZeroPadding


def mirror(position: int, length: int) -> int:
    """Where a pixel outside of a map stands after walking to the border and back, as often as it takes."""
    if length == 1:
        return 0
    while not 0 <= position < length:
        position = -position if position < 0 else 2 * (length - 1) - position
    return position


Pixel = tuple[int, int]


def keys_of(query: Pixel, footprint: Footprint, grid: Pixel) -> Iterator[Pixel | None]:
    """The key pixel of each position of a footprint, row by row; None where there is nothing but zeros."""
    half = footprint.size // 2
    for row in range(-half, half + 1):
        for column in range(-half, half + 1):
            key = tuple(
                footprint.stride * place + footprint.dilation * step
                for place, step in zip(query, (row, column), strict=True)
            )
            outside = any(not 0 <= place < length for place, length in zip(key, grid, strict=True))
            if outside and isinstance(footprint.padding, ZeroPadding):
                yield None
            else:
                yield mirror(key[0], grid[0]), mirror(key[1], grid[1])


def queries_of(footprint: Footprint, grid: Pixel) -> Iterator[Pixel]:
    """The query pixels of a map, as (row, column) among themselves."""
    for row in range(0, grid[0], footprint.stride):
        for column in range(0, grid[1], footprint.stride):
            yield row // footprint.stride, column // footprint.stride


def random_footprint(seed: int) -> tuple[Footprint, tuple[int, int]]:
    """A footprint and a non-square map, which may be smaller than the footprint's reach."""
    chance = random.Random(seed)
    footprint = Footprint(
        size=chance.choice((1, 3, 3, 5, 7)),
        stride=chance.choice((1, 1, 2, 3)),
        dilation=chance.choice((1, 1, 2, 3)),
        padding=chance.choice((ReflectionPadding(), ReflectionPadding(), ZeroPadding())),
    )
    height = chance.randint(1, 7)
    return footprint, (height, height + chance.choice((1, 2, 3)))
