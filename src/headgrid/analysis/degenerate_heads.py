"""Degenerate heads (appendix A.1): Gaussians so wide that they look everywhere, or so thin that they see a stripe.

The paper calls a quadratic head degenerate if the largest eigenvalue of its inverse covariance is below 1e-5 or its
condition number, the larger eigenvalue by the smaller, above 1e5; its code has 1000 in the place of 1e5. An
eigenvalue is the inverse of a variance in squared pixels: at 1e-5 a head is 316 pixels wide in every direction.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headgrid.attention import MultiheadAttention
from headgrid.scores.position import GeneralizedQuadraticScore, QuadraticScore

QuadraticTerm = QuadraticScore | GeneralizedQuadraticScore


@dataclass(frozen=True)
class DegeneracyThresholds:
    """From where on a Gaussian counts as degenerate; the defaults are the paper's."""

    eigenvalue: float = 1e-5
    """A head whose eigenvalues of the inverse covariance are all below this looks everywhere alike."""
    condition_number: float = 1e5
    """A head whose eigenvalues have a larger ratio looks at a stripe (the paper's code: 1000)."""

    def __post_init__(self) -> None:
        if not self.eigenvalue >= 0:
            raise ValueError(f"the threshold of the eigenvalue must be at least 0, but is {self.eigenvalue}")
        if not self.condition_number >= 1:
            raise ValueError(
                f"the threshold of the condition number must be at least 1, but is {self.condition_number}"
            )


Degeneracy = Literal["uniform", "stripe"]


@dataclass(frozen=True)
class HeadSpread:
    """The shape of one head's Gaussian, and whether it is degenerate."""

    layer: str
    """Name of the attention layer's module."""
    head: int
    """Number of the head in its layer."""
    eigenvalues: tuple[float, float]
    """Of the inverse covariance, the larger first."""
    degeneracy: Degeneracy | None
    """``uniform`` for a head that looks everywhere alike, ``stripe`` for one that is thin; none for the others."""
    thresholds: DegeneracyThresholds = field(repr=False)
    """What it was judged by."""

    @property
    def condition_number(self) -> float:
        """The larger eigenvalue by the smaller; infinite for a singular inverse covariance."""
        larger, smaller = self.eigenvalues
        return larger / smaller if smaller > 0 else math.inf

    @property
    def reason(self) -> str | None:
        """Why the head is degenerate, in words."""
        match self.degeneracy:
            case "uniform":
                limit = self.thresholds.eigenvalue
                return f"looks everywhere: largest eigenvalue {self.eigenvalues[0]:.2g} < {limit:g}"
            case "stripe":
                limit = self.thresholds.condition_number
                return f"looks at a stripe: condition number {self.condition_number:.2g} > {limit:g}"
            case None:
                return None


def degenerate_heads(model: nn.Module, thresholds: DegeneracyThresholds | None = None) -> tuple[HeadSpread, ...]:
    """Every head of the model whose attention is one Gaussian, degenerate or not, in the order of the layers.

    Heads whose score has other terms beside the Gaussian are left out: one that looks everywhere by its Gaussian
    may well look at something by its content.
    """
    limits = DegeneracyThresholds() if thresholds is None else thresholds
    return tuple(
        HeadSpread(name, head, (larger, smaller), _degeneracy(larger, smaller, limits), limits)
        for name, _, term in gaussian_layers(model)
        for head, (larger, smaller) in enumerate(spread_eigenvalues(term).tolist())
    )


def gaussian_layers(model: nn.Module) -> Iterator[tuple[str, MultiheadAttention, QuadraticTerm]]:
    """The layers whose score is one quadratic term and nothing else, by name."""
    for name, layer in model.named_modules():
        if isinstance(layer, MultiheadAttention) and len(layer.score.terms) == 1:
            (term,) = layer.score.terms
            if isinstance(term, QuadraticTerm):
                yield name, layer, term


@torch.no_grad()
def spread_eigenvalues(term: QuadraticTerm) -> Float[Tensor, "n 2"]:
    """The eigenvalues of each head's inverse covariance, the larger first, in float64.

    They are squared singular values of the spread: in the product S S^T of a thin head, rounding would hide the
    smaller one.
    """
    spreads = term.spreads.double().cpu()
    if isinstance(term, QuadraticScore):
        return spreads.square()[:, None].expand(-1, 2)
    return torch.linalg.svdvals(spreads).square()


def _degeneracy(larger: float, smaller: float, thresholds: DegeneracyThresholds) -> Degeneracy | None:
    if larger < thresholds.eigenvalue:
        return "uniform"
    # Not divided: the smaller one may be zero.
    return "stripe" if larger > thresholds.condition_number * smaller else None
