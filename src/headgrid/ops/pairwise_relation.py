"""The relation functions of pairwise attention: delta(x_i, x_j), from phi(x_i) and psi(x_j), for all j in R(i).

The keys come written out, one copy for each footprint position (`headgrid.ops.neighbours`). Each function is its
equation.
"""

import torch
from jaxtyping import Float
from torch import Tensor

Queries = Float[Tensor, "b h w r"]
Neighbours = Float[Tensor, "k b h w r"]
Relation = Float[Tensor, "k b h w c"]


def summation(phi: Queries, psi: Neighbours) -> Relation:
    """``delta = phi(x_i) + psi(x_j)``."""
    return phi + psi


def subtraction(phi: Queries, psi: Neighbours) -> Relation:
    """``delta = phi(x_i) - psi(x_j)``, the relation of the paper's pairwise networks."""
    return phi - psi


def concatenation(phi: Queries, psi: Neighbours) -> Relation:
    """``delta = [phi(x_i), psi(x_j)]``."""
    return torch.cat([phi.expand_as(psi), psi], dim=-1)


def hadamard_product(phi: Queries, psi: Neighbours) -> Relation:
    """``delta = phi(x_i) * psi(x_j)``, channel by channel."""
    return phi * psi


def dot_product(phi: Queries, psi: Neighbours) -> Relation:
    """``delta = phi(x_i)^T psi(x_j)``: one number, so that all channels get the same weight (scalar attention)."""
    return torch.einsum("bhwr,kbhwr->kbhw", phi, psi)[..., None]
