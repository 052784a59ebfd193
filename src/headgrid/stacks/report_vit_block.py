"""The block of the report's ViT: norms at the start of each half, before the trunk and the branch part."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from headgrid.attention import BlockTokenAttentionConfig, TokenAttentionOutput
from headgrid.axes import Tokens
from headgrid.geometry import TokenLayout
from headgrid.layers import Activation, FeedForward
from headgrid.stacks.block_checks import check_block


@dataclass(frozen=True)
class ReportViTBlockConfig:
    """Norm, then attention added; norm, then feed-forward added. What is added to is normalised as well."""

    hidden_dim: int = 512
    """Width between the two layers of the feed-forward part."""
    activation: Activation = "gelu"
    """Activation of the feed-forward part."""
    norm_epsilon: float = 1e-5
    """Epsilon of the layer norms."""

    def __post_init__(self) -> None:
        check_block(self.hidden_dim, self.norm_epsilon)

    def build(
        self, attention: BlockTokenAttentionConfig, dim: int, layout: TokenLayout, own_key: bool = True
    ) -> "ReportViTBlock":
        """The block for tokens of ``dim`` channels; without a key of its own, it works on keys that it is given."""
        return ReportViTBlock(self, attention, dim, layout, own_key)


class ReportViTBlock(nn.Module):
    """``y = LN(x)``, ``u = y + attention(y)``, ``z = LN(u)``, then ``z + feed_forward(z)``.

    Called pre-norm in the report. In a usual one (`PreNormBlock`) the sums take the tokens as they were before the
    norm, so that a signal passes all blocks unchanged; here every norm stands in its way.
    """

    def __init__(
        self,
        config: ReportViTBlockConfig,
        attention: BlockTokenAttentionConfig,
        dim: int,
        layout: TokenLayout,
        own_key: bool,
    ) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(dim, eps=config.norm_epsilon)
        self.attention = attention.build(dim, layout, own_key)
        self.feed_forward_norm = nn.LayerNorm(dim, eps=config.norm_epsilon)
        self.feed_forward = FeedForward(dim, config.hidden_dim, config.activation)

    def forward(
        self, tokens: Tokens, key: Float[Tensor, "b n s d"] | None = None, record: bool = False
    ) -> tuple[Tokens, TokenAttentionOutput]:
        tokens = self.attention_norm(tokens)
        attended = self.attention(tokens, key, record)
        tokens = self.feed_forward_norm(tokens + attended.values)
        return tokens + self.feed_forward(tokens), attended
