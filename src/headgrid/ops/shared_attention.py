"""Attention whose map is the same for every image: built once, applied to the batch as one matrix product."""

from jaxtyping import Float
from torch import Tensor

from headgrid.axes import SharedWeights


def shared_attention(
    weights: SharedWeights, values: Float[Tensor, "b y x d"] | Float[Tensor, "b n y x d"]
) -> Float[Tensor, "b h w n d"]:
    """Applies the maps of n heads to pixels that they share, or to values of their own."""
    num_heads, height, width = weights.shape[:3]
    maps = weights.flatten(3).flatten(1, 2).to(values.dtype)  # n, queries, keys
    if values.dim() == 4:
        # Images become columns of one matrix: (heads * queries, keys) @ (keys, images * channels).
        columns = values.flatten(1, 2).transpose(0, 1)
        output = maps.flatten(0, 1) @ columns.flatten(1)
        output = output.view(num_heads, height, width, values.shape[0], values.shape[-1])
        return output.permute(3, 1, 2, 0, 4)
    columns = values.flatten(2, 3).permute(1, 2, 0, 3)
    output = maps @ columns.flatten(2)
    return output.view(num_heads, height, width, values.shape[0], values.shape[-1]).permute(3, 1, 2, 0, 4)
