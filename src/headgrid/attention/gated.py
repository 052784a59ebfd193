"""Gated positional self-attention (ConViT, d'Ascoli et al. 2021): a head mixes where to look with what to look for.

``A^h = (1 - sigmoid(lambda_h)) softmax(Q^h K^hT / sqrt(D_h)) + sigmoid(lambda_h) softmax(v^h . r_delta)``. Each
half has a softmax of its own, so that neither drowns the other, and the mix of two distributions is again one. With
centres on a kernel's grid and a high sharpness the position half is a convolution (Theorem 1), which the gate
lambda_h lets each head leave.
"""

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from headgrid.attention.attention_output import AttentionOutput
from headgrid.attention.dropout import DropoutPerImage
from headgrid.attention.heads import (
    FullHeads,
    GroupedValues,
    HeadsOfWidth,
    MergedValues,
    ProjectedValues,
    SplitHeads,
    value_layers,
)
from headgrid.attention.multihead import QueryPixels
from headgrid.attention.own_key import own
from headgrid.axes import Pixels
from headgrid.ops import (
    apply_attention,
    attention_weights,
    fused_attention,
    separable_attention,
    shared_attention,
)
from headgrid.scores import (
    ContentConfig,
    GeneralizedQuadraticConfig,
    GridCenters,
    HeadShape,
    LearnedPositionConfig,
    QuadraticConfig,
    Score,
    ScoreParts,
    Structure,
)


@dataclass(frozen=True)
class GatedPositionalAttentionConfig:
    """Gated positional attention: a gate per head mixes a position map and a content map."""

    num_heads: int = 9
    """Number of heads N_h; centres on a grid need a square number."""
    position: QuadraticConfig | GeneralizedQuadraticConfig | LearnedPositionConfig = field(
        default_factory=lambda: QuadraticConfig(GridCenters())
    )
    """The position score; by default centred on a K x K grid."""
    gate: float = 1.0
    """lambda at the start: position has the share sigmoid(lambda) of a head's attention."""
    heads: FullHeads | SplitHeads | HeadsOfWidth = field(default_factory=FullHeads)
    """Width of a head: that of a pixel, the pixel's split between the heads, or any."""
    values: MergedValues | GroupedValues | ProjectedValues = field(default_factory=MergedValues)
    """Whether heads average raw pixels (and mix them, all or in groups) or projected values."""
    query_key_bias: bool = False
    """Whether the query and key projections have a bias."""
    dropout: DropoutPerImage = field(default_factory=lambda: DropoutPerImage(0.0))
    """Dropout on the attention weights; with it, training builds the maps."""

    def build(
        self, dim: int, grid: tuple[int, int], output_dim: int | None = None, own_key: bool = True
    ) -> "GatedPositionalAttention":
        """The layer for pixels of ``dim`` channels, with learned tables for maps of up to ``grid`` pixels.

        Without a key of its own it works on keys that it is given.
        """
        return GatedPositionalAttention(self, dim, grid, output_dim, own_key)


class GatedPositionalAttention(nn.Module):
    """Two maps per head, one gate. Without ``record`` and dropout neither map is built.

    Values are mixed linearly, so the mix of the maps applied to them is the mix of both maps' results; each comes
    from its own fastest exact path.
    """

    def __init__(
        self,
        config: GatedPositionalAttentionConfig,
        dim: int,
        grid: tuple[int, int],
        output_dim: int | None = None,
        own_key: bool = True,
    ) -> None:
        super().__init__()
        if config.num_heads < 1:
            raise ValueError(f"attention needs at least one head, got num_heads = {config.num_heads}")
        head_dim = config.heads.head_dim(dim, config.num_heads)
        self.num_heads, self.head_dim = config.num_heads, head_dim
        self.dropout = config.dropout
        shape = HeadShape(config.num_heads, dim, head_dim, grid)
        self.position = Score((config.position,), shape)
        self.content = Score((ContentConfig(),), shape)
        self.gate = nn.Parameter(torch.full((config.num_heads,), float(config.gate)))
        width = config.num_heads * head_dim
        self.query = nn.Linear(dim, width, bias=config.query_key_bias)
        self.key = nn.Linear(dim, width, bias=config.query_key_bias) if own_key else None
        self.value, self.mixing = value_layers(config.values, config.num_heads, head_dim, dim, output_dim)

    @property
    def position_share(self) -> Float[Tensor, "n"]:
        """``sigmoid(lambda)``: how much of each head's attention goes by position."""
        return torch.sigmoid(self.gate)

    def forward(
        self,
        pixels: Pixels,
        key: Float[Tensor, "b n y x d"] | None = None,
        record: bool = False,
        queries: QueryPixels | None = None,
    ) -> AttentionOutput:
        """As `MultiheadAttention.forward`."""
        query = self._split(self.query(pixels))
        key = self._split(own(self.key)(pixels)) if key is None else key
        values = pixels if self.value is None else self._split(self.value(pixels))
        grid = (pixels.shape[1], pixels.shape[2])
        position, content = self.position(grid), self.content(grid, query, key)
        if queries is not None:
            position, content = position.of_queries(*queries), content.of_queries(*queries)
        if record or (self.training and self.dropout.probability):
            heads, weights = self._explicit(position, content, values)
        else:
            heads, weights = self._fast(position, content, values), None
        return AttentionOutput(self.mixing(heads), weights if record else None, key)

    def _split(self, projected: Float[Tensor, "b h w nd"]) -> Float[Tensor, "b n h w d"]:
        return rearrange(projected, "b h w (n d) -> b n h w d", n=self.num_heads)

    def _explicit(self, position: ScoreParts, content: ScoreParts, values: Tensor) -> tuple[Tensor, Tensor]:
        share = self.position_share[:, None, None, None, None]
        where = attention_weights(rows=position.rows, columns=position.columns, dense=position.dense)
        weights = share * where + (1 - share) * attention_weights(content.query, content.key)
        applied = F.dropout(weights, self.dropout.probability, self.training)
        return apply_attention(applied, values), weights

    def _fast(self, position: ScoreParts, content: ScoreParts, values: Tensor) -> Tensor:
        if self.position.structure is Structure.SEPARABLE:
            assert position.rows is not None
            assert position.columns is not None
            where = separable_attention(position.rows[0, :, :, 0], position.columns[0, :, 0], values)
        else:
            weights = attention_weights(rows=position.rows, columns=position.columns, dense=position.dense)[0]
            where = shared_attention(weights, values)
        share = self.position_share[:, None].to(where.dtype)
        return share * where + (1 - share) * fused_attention(values, content.query, content.key)
