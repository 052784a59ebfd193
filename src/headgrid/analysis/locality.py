"""Where and how widely heads look, from their distributions over shifts.

The mean shift and the covariance are the moments of the distribution: for a Gaussian head that looks at the middle
of a large map they are its centre and its covariance. The mean attention distance is that of "non-locality" in
ConViT (d'Ascoli et al. 2021), ``mean of sum_k a(q, k) |k - q|``.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from headgrid.analysis.shift_distribution import ShiftDistribution


def mean_shifts(distribution: ShiftDistribution) -> Float[Tensor, "n 2"]:
    """The mean shift (rows, columns) of each head."""
    return torch.einsum("nij,ijs->ns", distribution.shares, distribution.shifts().to(distribution.shares))


def covariances(distribution: ShiftDistribution) -> Float[Tensor, "n 2 2"]:
    """The covariance of the shift around its mean."""
    shifts = distribution.shifts().to(distribution.shares)
    deviations = shifts - mean_shifts(distribution)[:, None, None]
    return torch.einsum("nij,nijs,nijt->nst", distribution.shares, deviations, deviations)


def spreads(distribution: ShiftDistribution) -> Float[Tensor, "n"]:
    """Root of the mean squared distance from the mean shift."""
    return covariances(distribution).diagonal(dim1=-2, dim2=-1).sum(dim=-1).clamp_min(0).sqrt()


def mean_distances(
    distribution: ShiftDistribution, pixel_size: tuple[float, float] = (1.0, 1.0)
) -> Float[Tensor, "n"]:
    """Mean distance between a query and what it looks at, where a pixel of the map has that size."""
    return torch.einsum("nij,ij->n", distribution.shares, _distances(distribution, pixel_size))


def non_localities(distribution: ShiftDistribution) -> Float[Tensor, "n"]:
    """Mean attention distance, where that of uniform attention is one; 0 on a map of a single pixel."""
    uniform = (distribution.num_queries / distribution.num_queries.sum()).to(distribution.shares)
    uniform_distance = (uniform * _distances(distribution)).sum()
    return mean_distances(distribution) / torch.where(uniform_distance > 0, uniform_distance, 1.0)


def _distances(
    distribution: ShiftDistribution, pixel_size: tuple[float, float] = (1.0, 1.0)
) -> Float[Tensor, "i j"]:
    shifts = distribution.shifts().to(distribution.shares)
    return (shifts * shifts.new_tensor(pixel_size)).norm(dim=-1)
