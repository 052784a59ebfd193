"""Quadratic position scores: each head looks at a Gaussian around a centre (sections 3 and 4.2, appendix A.1)."""

from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headgrid.geometry import axis_shifts
from headgrid.scores.initialization import GridCenters, RandomCenters
from headgrid.scores.term import HeadShape, ScoreParts, ScoreTerm, Structure


@dataclass(frozen=True)
class QuadraticConfig:
    """Isotropic quadratic encoding: a centre and one spread per head (equation 9)."""

    initialization: RandomCenters | GridCenters = field(default_factory=RandomCenters)
    """Where the heads start to look."""

    def build(self, shape: HeadShape) -> "QuadraticScore":
        return QuadraticScore(
            self.initialization.centers(shape.num_heads), self.initialization.spreads(shape.num_heads)
        )


class QuadraticScore(ScoreTerm):
    """``-1/2 spread^2 |delta - centre|^2``: the sharpness alpha of equation 9 is ``spread^2 / 2``."""

    structure = Structure.SEPARABLE

    def __init__(self, centers: Float[Tensor, "n 2"], spreads: Float[Tensor, "n"]) -> None:
        super().__init__()
        self.centers = nn.Parameter(centers)
        self.spreads = nn.Parameter(spreads)

    @property
    def sharpness(self) -> Float[Tensor, "n"]:
        return self.spreads.square() / 2

    def inverse_covariances(self) -> Float[Tensor, "n 2 2"]:
        """Of the Gaussian that the weights of each head follow away from borders."""
        return self.spreads.square()[:, None, None] * torch.eye(2).to(self.spreads)

    def forward(self, grid: tuple[int, int], query: Tensor | None = None, key: Tensor | None = None) -> ScoreParts:
        row_distance, column_distance = distances_to_centers(self.centers, grid)
        rows = -self.sharpness[:, None, None] * row_distance.square()
        columns = -self.sharpness[:, None, None] * column_distance.square()
        return ScoreParts(rows=rows[None, :, :, None, :], columns=columns[None, :, None, :, :])


@dataclass(frozen=True)
class GeneralizedQuadraticConfig:
    """Generalized quadratic encoding: a centre and a 2 x 2 spread per head (equation 16)."""

    initialization: RandomCenters | GridCenters = field(default_factory=RandomCenters)
    """Where the heads start to look."""

    def build(self, shape: HeadShape) -> "GeneralizedQuadraticScore":
        return GeneralizedQuadraticScore(
            self.initialization.centers(shape.num_heads), self.initialization.spread_matrices(shape.num_heads)
        )


class GeneralizedQuadraticScore(ScoreTerm):
    """``-1/2 (delta - centre)^T S S^T (delta - centre)`` with the spread S of each head."""

    structure = Structure.SHARED

    def __init__(self, centers: Float[Tensor, "n 2"], spreads: Float[Tensor, "n 2 2"]) -> None:
        super().__init__()
        self.centers = nn.Parameter(centers)
        self.spreads = nn.Parameter(spreads)

    def inverse_covariances(self) -> Float[Tensor, "n 2 2"]:
        """``Sigma^-1 = S S^T`` of each head, positive semi-definite for every S."""
        return self.spreads @ self.spreads.mT

    def forward(self, grid: tuple[int, int], query: Tensor | None = None, key: Tensor | None = None) -> ScoreParts:
        row_distance, column_distance = distances_to_centers(self.centers, grid)
        # |S^T (delta - centre)|^2, one component of the product at a time: a sum of squares, never positive.
        squares = row_distance.new_zeros(())
        for component in range(2):
            along_rows = self.spreads[:, 0, component, None, None] * row_distance
            along_columns = self.spreads[:, 1, component, None, None] * column_distance
            squares = squares + (along_rows[:, :, None, :, None] + along_columns[:, None, :, None, :]).square()
        return ScoreParts(dense=-0.5 * squares)


def distances_to_centers(
    centers: Float[Tensor, "n 2"], grid: tuple[int, int]
) -> tuple[Float[Tensor, "n h y"], Float[Tensor, "n w x"]]:
    """``delta - centre`` along the rows and along the columns.

    At least in float32, also in a model of half precision: there the square of a distance would overflow.
    """
    dtype = torch.promote_types(centers.dtype, torch.float32)
    rows, columns = (
        axis_shifts(length, centers.device).to(dtype) - centers[:, axis, None, None]
        for axis, length in enumerate(grid)
    )
    return rows, columns
