"""Absolute encodings, equation 7: a vector per pixel, fixed or learned, added to the pixel before the scores."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from headgrid.encodings.sinusoidal import sinusoids


@dataclass(frozen=True)
class LearnedAbsoluteConfig:
    """A learned vector for each pixel (Radford et al. 2018, Devlin et al. 2018)."""

    init_std: float = 0.02
    """Standard deviation of the vectors at the start."""

    def build(self, size: int, grid: tuple[int, int]) -> "LearnedAbsolute":
        return LearnedAbsolute(size, grid, self.init_std)


class LearnedAbsolute(nn.Module):
    """P of equation 7 as a table of rows x columns vectors."""

    def __init__(self, size: int, grid: tuple[int, int], init_std: float) -> None:
        super().__init__()
        self.table = nn.Parameter(init_std * torch.randn(*grid, size))

    def forward(self, height: int, width: int, like: Tensor) -> Float[Tensor, "h w p"]:
        rows, columns, _ = self.table.shape
        if height > rows or width > columns:
            raise ValueError(
                f"the learned absolute encoding was built for {rows} x {columns} pixels and the map has "
                f"{height} x {width}: build the model for larger images, or stretch its tables with "
                f"enlarge_tables(model, image_size)"
            )
        return self.table[:height, :width]

    @torch.no_grad()
    def enlarge(self, grid: tuple[int, int]) -> None:
        """Stretches the table to another grid by bilinear interpolation."""
        stretched = F.interpolate(
            self.table.permute(2, 0, 1)[None], size=grid, mode="bilinear", align_corners=True
        )[0].permute(1, 2, 0)
        self.table = nn.Parameter(stretched.contiguous(), requires_grad=self.table.requires_grad)


@dataclass(frozen=True)
class SinusoidalAbsoluteConfig:
    """Sinusoids of the row and of the column (Vaswani et al. 2017, on a grid)."""

    def build(self, size: int, grid: tuple[int, int]) -> "SinusoidalAbsolute":
        return SinusoidalAbsolute(size)


class SinusoidalAbsolute(nn.Module):
    """P of equation 7 without parameters, for maps of any size: one half encodes the row, one the column."""

    def __init__(self, size: int) -> None:
        super().__init__()
        if size % 4:
            raise ValueError(f"a sinusoidal encoding of rows and columns needs a size divisible by 4, got {size}")
        self.size = size

    def forward(self, height: int, width: int, like: Tensor) -> Float[Tensor, "h w p"]:
        dtype = torch.promote_types(like.dtype, torch.float32)  # angles need every digit
        rows = sinusoids(torch.arange(height, device=like.device, dtype=dtype), self.size // 2)
        columns = sinusoids(torch.arange(width, device=like.device, dtype=dtype), self.size // 2)
        grid = torch.cat([rows[:, None].expand(-1, width, -1), columns[None].expand(height, -1, -1)], dim=-1)
        return grid.to(like.dtype)
