"""phi(x_i)^T psi(x_j) for every key of a footprint: dot products and star products, without copies of the keys."""

from einops import rearrange
from jaxtyping import Float
from torch import Tensor

from headgrid.ops.footprint import Footprint, KeyMaps, pad
from headgrid.ops.footprint_products import correlate


def local_dot_product(
    queries: Float[Tensor, "b h w r"], keys: KeyMaps, footprint: Footprint
) -> Float[Tensor, "k b h w"]:
    """The fast twin of `dot_product` and `star_product`: channels are the members of one group."""
    members = rearrange(pad(keys, footprint), "b y x r -> b r y x 1")
    return correlate(members.contiguous(), rearrange(queries, "b h w r -> b r h w 1").contiguous(), footprint)[
        ..., 0
    ]
