"""Where the heads of a quadratic encoding start to look."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headgrid.geometry import kernel_shifts


@dataclass(frozen=True)
class RandomCenters:
    """Normally distributed centres and spreads near one, as in the paper's experiments."""

    center_std: float = 2.0
    """Standard deviation of each coordinate of a centre, in pixels."""
    spread_std: float = 0.01
    """Standard deviation of the noise added to the spread 1 (to the identity matrix if generalized)."""

    def __post_init__(self) -> None:
        for name in ("center_std", "spread_std"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be a number from 0 on, got {getattr(self, name)}")

    def centers(self, num_heads: int) -> Float[Tensor, "n 2"]:
        return self.center_std * torch.randn(num_heads, 2)

    def spreads(self, num_heads: int) -> Float[Tensor, "n"]:
        return 1 + self.spread_std * torch.randn(num_heads)

    def spread_matrices(self, num_heads: int) -> Float[Tensor, "n 2 2"]:
        return torch.eye(2) + self.spread_std * torch.randn(num_heads, 2, 2)


@dataclass(frozen=True)
class GridCenters:
    """Centres on the K x K grid of a convolution kernel (Lemma 1): the layer starts as a convolution."""

    sharpness: float = 1.0
    """alpha of equation 9: the score is ``-alpha |delta - centre|^2``; 1 is soft, 20 is a convolution."""

    def centers(self, num_heads: int) -> Float[Tensor, "n 2"]:
        side = math.isqrt(num_heads)
        if side * side != num_heads:
            raise ValueError(f"centres on a K x K grid need a square number of heads, got {num_heads}")
        return kernel_shifts((side, side)).to(torch.get_default_dtype())

    def spreads(self, num_heads: int) -> Float[Tensor, "n"]:
        if not 0 < self.sharpness < math.inf:
            raise ValueError(f"the sharpness of a head must be positive and finite, got {self.sharpness}")
        return torch.full((num_heads,), math.sqrt(2 * self.sharpness))

    def spread_matrices(self, num_heads: int) -> Float[Tensor, "n 2 2"]:
        return self.spreads(num_heads)[:, None, None] * torch.eye(2)
