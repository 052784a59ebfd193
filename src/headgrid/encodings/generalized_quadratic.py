"""Generalized quadratic encoding, equation 16: five numbers per shift, for Gaussians that are not round.

``r = (delta_1, delta_2, delta_1^2, delta_2^2, delta_1 delta_2)``; a head with centre Delta and inverse
covariance P has the target ``v = 1/2 (2 (P Delta)_1, 2 (P Delta)_2, -P_11, -P_22, -2 P_12)``, and ``v . r`` is
``-1/2 (delta - Delta)^T P (delta - Delta)`` up to a constant.
"""

import torch
from jaxtyping import Float
from torch import Tensor


def generalized_quadratic_encoding(shifts: Float[Tensor, "*grid 2"]) -> Float[Tensor, "*grid 5"]:
    """r_delta for each shift: its first and second order monomials."""
    return torch.cat([shifts, shifts.square(), shifts.prod(-1, keepdim=True)], dim=-1)


def generalized_quadratic_target(
    centers: Float[Tensor, "n 2"], inverse_covariances: Float[Tensor, "n 2 2"]
) -> Float[Tensor, "n 5"]:
    """The vector v of each head."""
    linear = torch.einsum("nij,nj->ni", inverse_covariances, centers)
    squares = -0.5 * torch.diagonal(inverse_covariances, dim1=-2, dim2=-1)
    return torch.cat([linear, squares, -inverse_covariances[:, :1, 1]], dim=-1)
