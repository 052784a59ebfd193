"""What a layer of local attention hands back."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from headgrid.axes import AttentionWeights
from headgrid.ops import Footprint, dense_weights


@dataclass(frozen=True)
class FootprintAttentionOutput:
    """The result of a local attention layer and, on request, how it came about."""

    values: Float[Tensor, "b h w c_out"]
    """The layer's output."""
    weights: Float[Tensor, "b n h w k"] | None
    """The weights alpha, if they were asked for: group of channels, query pixel, position of the footprint. Group n
    holds the channels n, n + num_groups, n + 2 num_groups..."""
    key: Float[Tensor, "b y x r"]
    """psi of every pixel: what a later layer needs to attend to the same keys."""
    footprint: Footprint
    """Which pixels the positions of ``weights`` are: ``footprint.shifts()`` lists them."""

    def dense(self) -> AttentionWeights:
        """The weights as maps over all key pixels, like those of `AttentionOutput`."""
        if self.weights is None:
            raise ValueError("the attention weights were not recorded: run the layer with record=True")
        height, width = self.key.shape[1:3]
        return dense_weights(self.weights, self.footprint, (height, width))
