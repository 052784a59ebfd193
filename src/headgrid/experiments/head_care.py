"""What a training does about Gaussian heads that degenerate; nothing, unless it is asked to."""

from dataclasses import dataclass

from torch import nn

from headgrid.pruning.head_reset import HeadReset
from headgrid.pruning.spread_penalty import SpreadPenalty


@dataclass(frozen=True)
class HeadCare:
    """Keeps Gaussian heads from degenerating, or resets those that have."""

    penalty: SpreadPenalty | None = None
    """A term of the loss that pulls Gaussians towards round ones."""
    reset: HeadReset | None = None
    """A new centre and spread for degenerate heads."""

    def check(self, model: nn.Module) -> None:
        """Whether the model has heads that this is about."""
        for part in (self.penalty, self.reset):
            if part is not None:
                part.check(model)
