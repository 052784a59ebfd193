"""Networks that know nothing of headgrid: patches, tokens, and an attention of whatever kind."""

import torch
from torch import nn

WIDTH = 8
PATCH = 4
IMAGES = torch.randn(3, 3, 12, 20, generator=torch.Generator().manual_seed(0))
"""Three images of 3 x 5 patches."""
GRID = (3, 5)


class Patches(nn.Module):
    """Cuts images into patches, puts tokens before or behind them, and lets a layer of (b, t, d) attend."""

    def __init__(self, layer: nn.Module, before: int = 0, behind: int = 0) -> None:
        super().__init__()
        self.embedding = nn.Conv2d(3, WIDTH, PATCH, PATCH)
        self.before = nn.Parameter(torch.randn(1, before, WIDTH))
        self.behind = nn.Parameter(torch.randn(1, behind, WIDTH))
        self.positions = nn.Parameter(torch.randn(before + GRID[0] * GRID[1] + behind, WIDTH))
        self.layer = layer

    def tokens(self, images: torch.Tensor) -> torch.Tensor:
        patches = self.embedding(images).flatten(2).mT
        around = [part.expand(len(images), -1, -1) for part in (self.before, self.behind)]
        return torch.cat([around[0], patches, around[1]], dim=1) + self.positions

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.layer(self.tokens(images)).mean(dim=1)


def seeded(make, seed: int = 0):
    """What ``make()`` gives, in eval mode, with the same weights every time."""
    torch.manual_seed(seed)
    return make().eval()


def per_head(tokens: torch.Tensor, projection: nn.Linear | torch.Tensor, num_heads: int) -> torch.Tensor:
    """(b, t, d) -> (b, n, t, d per head)."""
    projected = projection(tokens) if isinstance(projection, nn.Module) else tokens @ projection.T
    return projected.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def softmax_by_hand(scores: torch.Tensor) -> torch.Tensor:
    """Written out, so that no softmax of torch is involved; a query that may look at nothing has zeros."""
    largest = scores.amax(dim=-1, keepdim=True)
    powers = (scores - torch.where(largest.isinf(), 0.0, largest)).exp()
    return powers / powers.sum(dim=-1, keepdim=True).clamp_min(1e-30)
