"""Pixels of a grid and the shifts between them. A shift is always ``delta = key - query``, rows first."""

import torch
from jaxtyping import Int
from torch import Tensor


def pixel_grid(height: int, width: int, device: torch.device | None = None) -> Int[Tensor, "h w 2"]:
    """The (row, column) of every pixel."""
    rows = torch.arange(height, device=device)
    columns = torch.arange(width, device=device)
    return torch.stack(torch.meshgrid(rows, columns, indexing="ij"), dim=-1)


def axis_shifts(length: int, device: torch.device | None = None) -> Int[Tensor, "length length"]:
    """Entry (query, key) is ``key - query`` along one axis of ``length`` pixels."""
    positions = torch.arange(length, device=device)
    return positions[None, :] - positions[:, None]


def relative_shift(height: int, width: int, device: torch.device | None = None) -> Int[Tensor, "h w y x 2"]:
    """The shift from query pixel (h, w) to key pixel (y, x), as (rows, columns)."""
    pixels = pixel_grid(height, width, device)
    return pixels[None, None, :, :, :] - pixels[:, :, None, None, :]
