"""Which of the transformation functions phi (queries), psi (keys) and beta (values) are one and the same."""

from dataclasses import dataclass


@dataclass(frozen=True)
class AllDifferent:
    """phi, psi and beta are three linear maps."""


@dataclass(frozen=True)
class SharedPhiPsi:
    """phi = psi, and beta is a map of its own."""


@dataclass(frozen=True)
class AllShared:
    """phi = psi = beta: relations are as wide as values."""


Transformations = AllDifferent | SharedPhiPsi | AllShared
