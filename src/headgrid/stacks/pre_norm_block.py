"""The block of vision transformers (Dosovitskiy et al. 2021): norms stand on the branches, the trunk has none."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from headgrid.attention import BlockTokenAttentionConfig, TokenAttentionOutput
from headgrid.axes import Tokens
from headgrid.geometry import TokenLayout
from headgrid.layers import Activation, FeedForward
from headgrid.stacks.block_checks import check_block


@dataclass(frozen=True)
class PreNormBlockConfig:
    """Norm, attention, dropout on one branch; norm, feed-forward, dropout on the other."""

    hidden_dim: int = 3072
    """Width between the two layers of the feed-forward part."""
    activation: Activation = "gelu"
    """Activation of the feed-forward part."""
    dropout: float = 0.0
    """Dropout at the end of both branches."""
    norm_epsilon: float = 1e-6
    """Epsilon of the layer norms."""

    def __post_init__(self) -> None:
        check_block(self.hidden_dim, self.norm_epsilon, self.dropout)

    def build(
        self, attention: BlockTokenAttentionConfig, dim: int, layout: TokenLayout, own_key: bool = True
    ) -> "PreNormBlock":
        """The block for tokens of ``dim`` channels; without a key of its own, it works on keys that it is given."""
        return PreNormBlock(self, attention, dim, layout, own_key)


class PreNormBlock(nn.Module):
    """``u = x + attention(LN(x))``, then ``u + feed_forward(LN(u))``; dropout on both branches."""

    def __init__(
        self,
        config: PreNormBlockConfig,
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
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, tokens: Tokens, key: Float[Tensor, "b n s d"] | None = None, record: bool = False
    ) -> tuple[Tokens, TokenAttentionOutput]:
        attended = self.attention(self.attention_norm(tokens), key, record)
        tokens = tokens + self.dropout(attended.values)
        return tokens + self.dropout(self.feed_forward(self.feed_forward_norm(tokens))), attended
