"""A token that stands for the whole image, put before the patches: learned, drawn at random, or none."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headgrid.axes import Tokens


@dataclass(frozen=True)
class LearnedClassTokenConfig:
    """A learned vector, the same for every image."""

    init_std: float = 0.02
    """Standard deviation of its channels at the start."""

    num_tokens: ClassVar[int] = 1

    def build(self, dim: int) -> "LearnedClassToken":
        return LearnedClassToken(dim, self.init_std)


@dataclass(frozen=True)
class RandomClassTokenConfig:
    """Noise: for every image anew in training, and zeros in evaluation."""

    num_tokens: ClassVar[int] = 1

    def build(self, dim: int) -> "RandomClassToken":
        return RandomClassToken()


@dataclass(frozen=True)
class NoClassTokenConfig:
    """Patches alone."""

    num_tokens: ClassVar[int] = 0

    def build(self, dim: int) -> nn.Identity:
        return nn.Identity()


ClassTokenConfig = LearnedClassTokenConfig | RandomClassTokenConfig | NoClassTokenConfig


class LearnedClassToken(nn.Module):
    """Puts its vector before the patches."""

    def __init__(self, dim: int, init_std: float) -> None:
        super().__init__()
        self.vector = nn.Parameter(init_std * torch.randn(dim))

    def forward(self, patches: Tokens) -> Float[Tensor, "b s c"]:
        return torch.cat([self.vector.expand(len(patches), 1, -1), patches], dim=1)


class RandomClassToken(nn.Module):
    """Puts numbers between 0 and 1 before the patches, drawn in training only.

    The report's code draws them in evaluation as well, so that the same image may get another class each time.
    """

    def forward(self, patches: Tokens) -> Float[Tensor, "b s c"]:
        token = torch.zeros_like(patches[:, :1])
        if self.training:
            token = torch.rand_like(token)
        return torch.cat([token, patches], dim=1)
