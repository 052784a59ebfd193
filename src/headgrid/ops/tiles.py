"""Cutting a large computation into tiles whose intermediate results stay in the cache."""

from collections.abc import Iterator

import torch

CACHED_ELEMENTS = 2**20
"""Elements of a tile on a CPU: 4 MB of float32, which two cores share with their operands in a cache of today."""


def tiles(length: int, elements: int, device: torch.device) -> Iterator[slice]:
    """Slices of ``length`` items of so many ``elements`` each; one slice on devices that hide memory latency."""
    step = max(1, CACHED_ELEMENTS // elements) if device.type == "cpu" else length
    for start in range(0, length, step):
        yield slice(start, min(start + step, length))
