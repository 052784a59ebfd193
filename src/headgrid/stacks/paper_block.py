"""The block of Cordonnier et al. (attention-cnn): post-norm, with one more Linear after the attention."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from headgrid.attention import AttentionOutput, BlockAttentionConfig
from headgrid.axes import Pixels
from headgrid.layers import Activation, FeedForward
from headgrid.stacks.block_checks import check_block


@dataclass(frozen=True)
class PaperBlockConfig:
    """The paper's block: attention, Linear, dropout, norm; feed-forward, dropout, norm."""

    hidden_dim: int = 512
    """Width between the two layers of the feed-forward part."""
    activation: Activation = "gelu"
    """Activation of the feed-forward part."""
    dropout: float = 0.1
    """Dropout after the attention and after the feed-forward part."""
    norm_epsilon: float = 1e-12
    """Epsilon of the layer norms."""

    def __post_init__(self) -> None:
        check_block(self.hidden_dim, self.norm_epsilon, self.dropout)

    def build(
        self, attention: BlockAttentionConfig, dim: int, grid: tuple[int, int], own_key: bool = True
    ) -> "PaperBlock":
        """The block for pixels of ``dim`` channels; without a key of its own, it works on keys that it is given."""
        return PaperBlock(self, attention, dim, grid, own_key)


class PaperBlock(nn.Module):
    """``u = LN(x + Linear(attention(x)))``, then ``LN(u + feed_forward(u))``; dropout on both branches."""

    def __init__(
        self,
        config: PaperBlockConfig,
        attention: BlockAttentionConfig,
        dim: int,
        grid: tuple[int, int],
        own_key: bool,
    ) -> None:
        super().__init__()
        self.attention = attention.build(dim, grid, own_key=own_key)
        self.projection = nn.Linear(dim, dim)
        self.attention_norm = nn.LayerNorm(dim, eps=config.norm_epsilon)
        self.feed_forward = FeedForward(dim, config.hidden_dim, config.activation)
        self.feed_forward_norm = nn.LayerNorm(dim, eps=config.norm_epsilon)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, pixels: Pixels, key: Float[Tensor, "b n h w d"] | None = None, record: bool = False
    ) -> tuple[Pixels, AttentionOutput]:
        attended = self.attention(pixels, key, record)
        pixels = self.attention_norm(pixels + self.dropout(self.projection(attended.values)))
        pixels = self.feed_forward_norm(pixels + self.dropout(self.feed_forward(pixels)))
        return pixels, attended
