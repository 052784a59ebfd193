"""The softmax of attention on images: over both axes of the key pixels at once."""

import torch
from jaxtyping import Float
from torch import Tensor


def grid_softmax(scores: Float[Tensor, "*query y x"]) -> Float[Tensor, "*query y x"]:
    """Turns attention scores into weights that sum to one over the key pixels (y, x).

    At least in float32: weights in bfloat16 may miss one by a percent.
    """
    dtype = torch.promote_types(scores.dtype, torch.float32)
    return torch.softmax(scores.flatten(-2), dim=-1, dtype=dtype).unflatten(-1, scores.shape[-2:])
