"""Sinusoids of geometrically spaced wavelengths (Vaswani et al. 2017), of positions or of shifts."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headgrid.geometry import axis_shifts


def sinusoids(
    positions: Float[Tensor, "*grid"], size: int, longest_wavelength: float = 10_000.0
) -> Float[Tensor, "*grid {size}"]:
    """``size`` numbers per position: sine and cosine in turn, at wavelengths from 2 pi to 2 pi * longest."""
    if size % 2:
        raise ValueError(f"a sinusoidal encoding needs an even size (a sine and a cosine each), got {size}")
    exponents = torch.arange(size // 2, dtype=positions.dtype, device=positions.device) / (size // 2)
    angles = positions[..., None] / longest_wavelength**exponents
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


@dataclass(frozen=True)
class SinusoidalRelativeConfig:
    """Sinusoids of the row shift and of the column shift, as in Transformer-XL."""

    def build(self, size: int, grid: tuple[int, int]) -> "SinusoidalRelative":
        return SinusoidalRelative(size)


class SinusoidalRelative(nn.Module):
    """r_delta of any shift: one half encodes the row shift, the other the column shift. Nothing is learned."""

    def __init__(self, size: int) -> None:
        super().__init__()
        if size % 4:
            raise ValueError(f"a sinusoidal encoding of rows and columns needs a size divisible by 4, got {size}")
        self.size = size

    def rows(self, height: int, like: Tensor) -> Float[Tensor, "h y p"]:
        # In float32 at least: bfloat16 cannot even tell 257 from 256, and sines of large angles need every digit.
        shifts = axis_shifts(height, like.device).to(torch.promote_types(like.dtype, torch.float32))
        return sinusoids(shifts, self.size // 2).to(like.dtype)

    def columns(self, width: int, like: Tensor) -> Float[Tensor, "w x p"]:
        return self.rows(width, like)
