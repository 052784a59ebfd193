"""Absolute positions of tokens: a vector for each patch, and for each class token, added once at the input."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from headgrid.axes import Tokens
from headgrid.encodings import SinusoidalAbsolute
from headgrid.geometry import TokenLayout


@dataclass(frozen=True)
class LearnedPositionsConfig:
    """A learned vector for each patch and each class token."""

    init_std: float = 0.02
    """Standard deviation of the vectors at the start."""

    def build(self, dim: int, layout: TokenLayout) -> "LearnedPositions":
        return LearnedPositions(dim, layout, self.init_std)


@dataclass(frozen=True)
class SinusoidalPositionsConfig:
    """Sinusoids of a patch's row and column; class tokens have none. Nothing is learned."""

    def build(self, dim: int, layout: TokenLayout) -> "SinusoidalPositions":
        return SinusoidalPositions(dim, layout)


class LearnedPositions(nn.Module):
    """Adds a table of rows x columns vectors to the patches, and vectors of their own to class tokens."""

    def __init__(self, dim: int, layout: TokenLayout, init_std: float) -> None:
        super().__init__()
        self.table = nn.Parameter(init_std * torch.randn(*layout.grid, dim))
        of_class_tokens = init_std * torch.randn(layout.num_class_tokens, dim)
        self.class_tokens = nn.Parameter(of_class_tokens) if layout.num_class_tokens else None

    def forward(self, tokens: Tokens) -> Tokens:
        table = self.table.flatten(0, 1)
        return tokens + (table if self.class_tokens is None else torch.cat([self.class_tokens, table]))

    def resize(self, layout: TokenLayout) -> None:
        """Interpolates the table for another grid; class tokens keep theirs."""
        self.table = nn.Parameter(resized_table(self.table, layout.grid), requires_grad=self.table.requires_grad)


class SinusoidalPositions(nn.Module):
    """Adds sinusoids of row and column to the patches."""

    def __init__(self, dim: int, layout: TokenLayout) -> None:
        super().__init__()
        self.layout = layout
        self.encoding = SinusoidalAbsolute(dim)

    def forward(self, tokens: Tokens) -> Tokens:
        table = self.encoding(*self.layout.grid, tokens).flatten(0, 1)
        return tokens + F.pad(table, (0, 0, self.layout.num_class_tokens, 0))

    def resize(self, layout: TokenLayout) -> None:
        """Another grid, of which everything is known."""
        self.layout = layout


@torch.no_grad()
def resized_table(table: Float[Tensor, "h w c"], grid: tuple[int, int]) -> Float[Tensor, "h_resized w_resized c"]:
    """A table of positions for another grid, interpolated as timm does: bicubic, smoothed where it shrinks."""
    if tuple(table.shape[:2]) == grid:
        return table.clone()
    exact = table.to(torch.promote_types(table.dtype, torch.float32))
    resized = F.interpolate(
        exact.permute(2, 0, 1)[None], size=grid, mode="bicubic", align_corners=False, antialias=True
    )
    return resized[0].permute(1, 2, 0).contiguous().to(table.dtype)
