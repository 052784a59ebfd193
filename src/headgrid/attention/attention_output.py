"""What an attention layer hands back."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from headgrid.axes import AttentionWeights


@dataclass(frozen=True)
class AttentionOutput:
    """The result of an attention layer and, on request, how it came about."""

    values: Float[Tensor, "b h w c_out"]
    """The layer's output."""
    weights: AttentionWeights | None
    """The attention weights before dropout, if they were asked for."""
    key: Float[Tensor, "b n y x d"] | None
    """The projected key, if the score uses one."""
