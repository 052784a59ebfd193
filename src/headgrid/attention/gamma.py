"""gamma, the mapping of vector attention: from a relation delta to one number per group of channels."""

from dataclasses import dataclass, field

from jaxtyping import Float
from torch import Tensor, nn

from headgrid.layers import NormalizedLinear


@dataclass(frozen=True)
class RandomGamma:
    """All layers begin with random weights, as in the official code."""

    def prepare(self, last: nn.Linear) -> None:
        """Leaves the last layer as torch made it."""


@dataclass(frozen=True)
class ConstantGamma:
    """The last layer's weights begin at zero: alpha begins as its bias, the same for all pixels and images.

    Patchwise weights have no softmax: an image of high contrast gets large weights on large values, and larger ones
    in the next block. With random weights a few images of a batch soon outshine all others (see
    `docs/concepts/vector-attention.md`); beginning like a convolution, the network learns how far to go.
    """

    def prepare(self, last: nn.Linear) -> None:
        nn.init.zeros_(last.weight)


@dataclass(frozen=True)
class GammaConfig:
    """gamma: linear layers, each after a batch norm and a ReLU."""

    num_layers: int = 2
    """Number of linear layers."""
    hidden_dim: int | None = None
    """Width between the layers; by default the relation's (pairwise) or the number of groups (patchwise)."""
    width_factor: float = 1.0
    """What that default is multiplied by, and rounded; layers of all sizes become wider or narrower alike."""
    start: RandomGamma | ConstantGamma = field(default_factory=RandomGamma)
    """What the last layer is before training."""

    def __post_init__(self) -> None:
        if self.num_layers < 1:
            raise ValueError(f"gamma needs at least one linear layer, got num_layers = {self.num_layers}")
        if self.hidden_dim is not None and self.hidden_dim < 1:
            raise ValueError(f"the hidden width of gamma must be at least 1, got {self.hidden_dim}")
        if self.width_factor <= 0:
            raise ValueError(f"width_factor of gamma must be positive, got {self.width_factor}")
        if self.hidden_dim is not None and self.width_factor != 1:
            raise ValueError(
                "gamma takes hidden_dim or width_factor, not both: the factor changes the default width"
            )

    def hidden_width(self, default: int) -> int:
        """Width between the layers, where the attention would choose ``default``; one channel at least."""
        return max(1, round(self.width_factor * default)) if self.hidden_dim is None else self.hidden_dim


class Gamma(nn.Module):
    """``alpha = gamma(delta)`` before a softmax; only the last layer has a bias, as in the official code."""

    def __init__(self, config: GammaConfig, num_channels: int, hidden_dim: int, output_dim: int) -> None:
        super().__init__()
        hidden = [config.hidden_width(hidden_dim)] * (config.num_layers - 1)
        widths = [num_channels, *hidden, output_dim]
        self.layers = nn.ModuleList(
            NormalizedLinear(width, widths[layer + 1], bias=layer == config.num_layers - 1)
            for layer, width in enumerate(widths[:-1])
        )
        last = self.layers[-1]
        assert isinstance(last, NormalizedLinear)
        config.start.prepare(last.linear)

    def forward(self, delta: Float[Tensor, "*n c"], record: bool = False) -> Float[Tensor, "*n c_out"]:
        return self.after_first(self.first(delta, record), record)

    def after_first(self, hidden: Float[Tensor, "*n c_hidden"], record: bool = False) -> Float[Tensor, "*n c_out"]:
        """All layers but the first, whose result some relations compute without being written down."""
        for layer in list(self.layers)[1:]:
            hidden = layer(hidden, record)
        return hidden

    @property
    def first(self) -> NormalizedLinear:
        layer = self.layers[0]
        assert isinstance(layer, NormalizedLinear)
        return layer
