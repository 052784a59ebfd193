"""Quadratic encoding, equation 9: three numbers per shift, ``r = (|delta|^2, delta_1, delta_2)``.

With the target vector ``v = -alpha (1, -2 Delta_1, -2 Delta_2)`` of a head, ``v . r`` is
``-alpha |delta - Delta|^2`` up to the constant ``alpha |Delta|^2``, which the softmax does not see. Here
``delta = key - query``, so Delta is the centre of attention itself (the paper's equation 9 has ``query - key``
and its Delta is minus our centre). On sequences a shift has one coordinate and r two numbers: the axis letter a
counts coordinates. ``scores.position.QuadraticScore`` computes the same scores without r and v.
"""

import torch
from jaxtyping import Float
from torch import Tensor


def quadratic_encoding(shifts: Float[Tensor, "*grid a"]) -> Float[Tensor, "*grid a+1"]:
    """r_delta for each shift."""
    return torch.cat([shifts.square().sum(-1, keepdim=True), shifts], dim=-1)


def quadratic_target(centers: Float[Tensor, "n a"], sharpness: Float[Tensor, "n"]) -> Float[Tensor, "n a+1"]:
    """The vector v of each head with centre Delta and sharpness alpha."""
    return -sharpness[:, None] * torch.cat([torch.ones_like(centers[:, :1]), -2 * centers], dim=-1)
