"""A term of the loss against Gaussians that become stripes: the regulariser that the original has an option for.

There it stays without effect, because its value is computed apart from the gradients; here it has one.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headgrid.scores import GeneralizedQuadraticScore


@dataclass(frozen=True)
class SpreadPenalty:
    """Pulls Gaussian heads towards round ones: ``strength`` times the mean of ``stretch`` over all generalized
    quadratic heads of the model is added to the loss."""

    strength: float = 0.01
    """What the mean is multiplied by; the loss of the images counts once."""

    def __post_init__(self) -> None:
        if not self.strength > 0:
            raise ValueError(f"the strength of the spread penalty must be above 0, but is {self.strength}")

    def check(self, model: nn.Module) -> None:
        """Whether the model has heads that the penalty is about."""
        if not any(isinstance(module, GeneralizedQuadraticScore) for module in model.modules()):
            raise ValueError(
                "the spread penalty is for generalized quadratic heads, and this model has none: only they can be "
                "stretched; leave the penalty out, or train quadratic-generalized"
            )

    def of(self, model: nn.Module) -> Float[Tensor, ""]:
        """The term of the loss, with its gradient."""
        terms = [module for module in model.modules() if isinstance(module, GeneralizedQuadraticScore)]
        return self.strength * torch.cat([stretch(term.spreads) for term in terms]).mean()


def stretch(spreads: Float[Tensor, "n 2 2"]) -> Float[Tensor, "n"]:
    """``log(|S|_F^2 / (2 |det S|))`` of each spread S: how far its Gaussian is from a round one.

    With the condition number kappa of the inverse covariance ``S S^T`` (the larger eigenvalue by the smaller, which
    is what degenerate heads are judged by) this is ``log cosh(log(kappa) / 2)``: zero for a round head, about
    ``log(kappa)^2 / 8`` near one, and about ``log(kappa) / 2 - log 2`` for a stripe. The scale of S makes no
    difference. It needs no eigenvectors, so that its gradient exists where both eigenvalues are equal, too.
    """
    determinants = spreads[:, 0, 0] * spreads[:, 1, 1] - spreads[:, 0, 1] * spreads[:, 1, 0]
    return spreads.square().sum((1, 2)).log() - (2 * determinants.abs()).log()
