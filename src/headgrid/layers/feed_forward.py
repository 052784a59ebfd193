"""The two linear layers of a transformer block that act on each pixel by itself."""

from typing import Literal

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

Activation = Literal["gelu", "relu", "silu"]


class FeedForward(nn.Module):
    """Linear, activation, Linear. The GELU is the exact one (erf)."""

    def __init__(self, dim: int, hidden_dim: int, activation: Activation) -> None:
        super().__init__()
        self.widen = nn.Linear(dim, hidden_dim)
        self.narrow = nn.Linear(hidden_dim, dim)
        self.activation: Activation = activation

    def forward(self, pixels: Float[Tensor, "*positions c"]) -> Float[Tensor, "*positions c"]:
        return self.narrow(getattr(F, self.activation)(self.widen(pixels)))

    def extra_repr(self) -> str:
        return f"activation={self.activation}"
