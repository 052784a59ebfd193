"""``y_i = sum over j in R(i) of alpha_ij * beta(x_j)``: the values of a footprint, weighted channel by channel.

Groups of channels share a weight: channel c takes the weight of group ``c mod g``, so the channels of a group are
interleaved, not adjacent (as in the official SAN).
"""

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor

from headgrid.ops.footprint import Footprint, KeyMaps, neighbours, pad
from headgrid.ops.footprint_products import FootprintWeights, aggregate
from headgrid.ops.precision import without_autocast


def vector_aggregation(
    values: KeyMaps, weights: FootprintWeights, footprint: Footprint
) -> Float[Tensor, "b h w c"]:
    """Aggregates ``values`` = beta(x) with ``weights`` = alpha; position k of a footprint counts row by row.

    A loop over shifts that stores no copies of the values, forwards or backwards; see
    `headgrid.ops.footprint_products`. Half precision is summed in float32.
    """
    num_groups = _check_groups(values, weights)
    exact = torch.promote_types(torch.promote_types(values.dtype, weights.dtype), torch.float32)
    padded = rearrange(pad(values, footprint), "b y x (m g) -> b m y x g", g=num_groups)
    with without_autocast(values):
        outputs = aggregate(weights.to(exact).contiguous(), padded.to(exact).contiguous(), footprint)
    return rearrange(outputs, "b m h w g -> b h w (m g)").to(values.dtype)


def explicit_vector_aggregation(
    values: KeyMaps, weights: FootprintWeights, footprint: Footprint
) -> Float[Tensor, "b h w c"]:
    """The readable twin: writes every footprint down and sums it."""
    copies = rearrange(
        neighbours(values, footprint), "k b h w (m g) -> k b h w m g", g=_check_groups(values, weights)
    )
    return rearrange(torch.einsum("kbhwg,kbhwmg->bhwmg", weights, copies), "b h w m g -> b h w (m g)")


def _check_groups(values: Tensor, weights: Tensor) -> int:
    num_groups, num_channels = weights.shape[-1], values.shape[-1]
    if num_channels % num_groups:
        raise ValueError(
            f"{num_channels} channels cannot share the weights of {num_groups} groups evenly: "
            f"the number of channels must be a multiple of the number of groups"
        )
    return num_groups
