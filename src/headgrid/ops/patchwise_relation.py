"""The relation functions of patchwise attention: delta(x_R(i)), one vector for the whole footprint of a query.

The keys come written out, one copy for each footprint position (`headgrid.ops.neighbours`). Each function is its
equation.
"""

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor

Queries = Float[Tensor, "b h w r"]
Neighbours = Float[Tensor, "k b h w r"]
Relation = Float[Tensor, "b h w c"]


def star_product(phi: Queries, psi: Neighbours) -> Relation:
    """``delta = [phi(x_i)^T psi(x_j) for all j in R(i)]``: K^2 numbers."""
    return torch.einsum("bhwr,kbhwr->bhwk", phi, psi)


def clique_product(phi: Neighbours, psi: Neighbours) -> Relation:
    """``delta = [phi(x_j)^T psi(x_k) for all j, k in R(i)]``: K^4 numbers, j first."""
    return torch.einsum("jbhwr,kbhwr->bhwjk", phi, psi).flatten(-2)


def patch_concatenation(phi: Queries | None, psi: Neighbours) -> Relation:
    """``delta = [phi(x_i), [psi(x_j) for all j in R(i)]]``, the relation of the paper's patchwise networks.

    Position by position, and the channels of psi within a position. (The official code counts the positions within
    a channel.) Without ``phi``, the footprint alone.
    """
    patch = rearrange(psi, "k b h w r -> b h w (k r)")
    return patch if phi is None else torch.cat([phi, patch], dim=-1)
