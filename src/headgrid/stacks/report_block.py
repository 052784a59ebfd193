"""The block of the reproduction report: post-norm, with no dropout but that on the attention weights."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from headgrid.attention import AttentionOutput, BlockAttentionConfig
from headgrid.axes import Pixels
from headgrid.layers import Activation, FeedForward
from headgrid.stacks.block_checks import check_block


@dataclass(frozen=True)
class ReportBlockConfig:
    """The report's block: attention, norm; feed-forward, norm."""

    hidden_dim: int = 512
    """Width between the two layers of the feed-forward part."""
    activation: Activation = "relu"
    """Activation of the feed-forward part."""
    norm_epsilon: float = 1e-5
    """Epsilon of the layer norms."""

    def __post_init__(self) -> None:
        check_block(self.hidden_dim, self.norm_epsilon)

    def build(
        self, attention: BlockAttentionConfig, dim: int, grid: tuple[int, int], own_key: bool = True
    ) -> "ReportBlock":
        """The block for pixels of ``dim`` channels; without a key of its own, it works on keys that it is given."""
        return ReportBlock(self, attention, dim, grid, own_key)


class ReportBlock(nn.Module):
    """``u = LN(x + attention(x))``, then ``LN(u + feed_forward(u))``."""

    def __init__(
        self,
        config: ReportBlockConfig,
        attention: BlockAttentionConfig,
        dim: int,
        grid: tuple[int, int],
        own_key: bool,
    ) -> None:
        super().__init__()
        self.attention = attention.build(dim, grid, own_key=own_key)
        self.attention_norm = nn.LayerNorm(dim, eps=config.norm_epsilon)
        self.feed_forward = FeedForward(dim, config.hidden_dim, config.activation)
        self.feed_forward_norm = nn.LayerNorm(dim, eps=config.norm_epsilon)

    def forward(
        self, pixels: Pixels, key: Float[Tensor, "b n h w d"] | None = None, record: bool = False
    ) -> tuple[Pixels, AttentionOutput]:
        attended = self.attention(pixels, key, record)
        pixels = self.attention_norm(pixels + attended.values)
        pixels = self.feed_forward_norm(pixels + self.feed_forward(pixels))
        return pixels, attended
