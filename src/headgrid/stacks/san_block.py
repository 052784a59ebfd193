"""The block of SAN: a bottleneck whose only look at other pixels is local attention."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from headgrid.attention import FootprintAttentionOutput, PairwiseAttentionConfig, PatchwiseAttentionConfig
from headgrid.axes import Pixels
from headgrid.layers import NormReLU


@dataclass(frozen=True)
class SANBlockConfig:
    """SAN's block: norm, ReLU, attention, norm, ReLU, Linear, and the input added."""

    relation_reduction: int = 16
    """How many times narrower than the block its phi and psi are."""
    value_reduction: int = 4
    """How many times narrower than the block its beta is."""

    def build(
        self,
        attention: PairwiseAttentionConfig | PatchwiseAttentionConfig,
        dim: int,
        own_key: bool = True,
    ) -> "SANBlock":
        """The block for pixels of ``dim`` channels; without a key of its own, it works on keys that it is given."""
        for what, reduction in (("relation", self.relation_reduction), ("value", self.value_reduction)):
            if reduction < 1 or dim % reduction:
                raise ValueError(
                    f"a block of {dim} channels cannot have a {what}_reduction of {reduction}: it must divide {dim}"
                )
        if attention.footprint.stride != 1:
            raise ValueError(
                f"the attention of a residual block must keep every pixel: its stride must be 1, "
                f"got {attention.footprint.stride}"
            )
        return SANBlock(self, attention, dim, own_key)


class SANBlock(nn.Module):
    """``x + widen(relu(norm(attention(relu(norm(x))))))``."""

    def __init__(
        self,
        config: SANBlockConfig,
        attention: PairwiseAttentionConfig | PatchwiseAttentionConfig,
        dim: int,
        own_key: bool,
    ) -> None:
        super().__init__()
        value_dim = dim // config.value_reduction
        self.input_norm = NormReLU(dim)
        self.attention = attention.build(dim, dim // config.relation_reduction, value_dim, own_key)
        self.attention_norm = NormReLU(value_dim)
        self.widen = nn.Linear(value_dim, dim)

    def forward(
        self, pixels: Pixels, key: Float[Tensor, "b y x r"] | None = None, record: bool = False
    ) -> tuple[Pixels, FootprintAttentionOutput]:
        attended = self.attention(self.input_norm(pixels), key, record)
        return pixels + self.widen(self.attention_norm(attended.values)), attended
