"""Multi-head self-attention on images: equations 4, 6 and 11, with any sum of scores."""

from dataclasses import dataclass, field

import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from headgrid.attention.attention_output import AttentionOutput
from headgrid.attention.dropout import DropoutPerBatch, DropoutPerImage
from headgrid.attention.heads import (
    FullHeads,
    GroupedValues,
    HeadsOfWidth,
    MergedValues,
    ProjectedValues,
    SplitHeads,
    value_layers,
)
from headgrid.attention.own_key import own
from headgrid.axes import AttentionWeights, Pixels
from headgrid.ops import (
    apply_attention,
    attention_weights,
    fused_attention,
    map_attention,
    map_is_faster,
    separable_attention,
    shared_attention,
)
from headgrid.scores import HeadShape, QuadraticConfig, Score, ScoreParts, ScoreTermConfig, Structure

QueryPixels = tuple[slice | Tensor, slice | Tensor]
"""The rows and the columns of the pixels that attend, where not all do: slices or indices."""


@dataclass(frozen=True)
class MultiheadAttentionConfig:
    """Multi-head attention: how many heads, what they score, how wide they are."""

    num_heads: int = 9
    """Number of heads N_h; 9 can express a 3 x 3 convolution."""
    scores: tuple[ScoreTermConfig, ...] = (QuadraticConfig(),)
    """The terms of the attention score; they are added."""
    heads: FullHeads | SplitHeads | HeadsOfWidth = field(default_factory=FullHeads)
    """Width of a head: that of a pixel, the pixel's split between the heads, or any."""
    values: MergedValues | GroupedValues | ProjectedValues = field(default_factory=MergedValues)
    """Whether heads average raw pixels (and mix them, all or in groups) or projected values."""
    query_key_bias: bool = True
    """Whether the query and key projections have a bias."""
    dropout: DropoutPerBatch | DropoutPerImage = field(default_factory=DropoutPerBatch)
    """Dropout on the attention weights."""

    def build(
        self, dim: int, grid: tuple[int, int], output_dim: int | None = None, own_key: bool = True
    ) -> "MultiheadAttention":
        """The layer for pixels of ``dim`` channels, with learned tables for maps of up to ``grid`` pixels.

        Without a key of its own it works on keys that it is given.
        """
        return MultiheadAttention(self, dim, grid, output_dim, own_key)


class MultiheadAttention(nn.Module):
    """``MHSA(X)_q = sum_h (sum_k softmax(A^h_q)_k X_k) W^h + b_out`` (equation 12).

    Without ``record`` the layer takes the fastest exact path that the score's structure allows: separable scores
    never build a map, shared maps are built once for a batch, content goes through the fused kernel where that
    is faster. With ``record`` it computes and returns the weights explicitly; the values are the same.
    """

    def __init__(
        self,
        config: MultiheadAttentionConfig,
        dim: int,
        grid: tuple[int, int],
        output_dim: int | None = None,
        own_key: bool = True,
    ) -> None:
        super().__init__()
        if config.num_heads < 1:
            raise ValueError(f"attention needs at least one head, got num_heads = {config.num_heads}")
        head_dim = config.heads.head_dim(dim, config.num_heads)
        self.num_heads, self.head_dim, self.grid = config.num_heads, head_dim, grid
        self.dropout = config.dropout
        self.score = Score(config.scores, HeadShape(config.num_heads, dim, head_dim, grid))
        if self.score.structure is Structure.CONTENT and isinstance(config.dropout, DropoutPerBatch):
            raise ValueError(
                "weights that depend on the image have a dropout mask per image: use DropoutPerImage "
                "(--model.attention.dropout.kind dropout-per-image)"
            )
        width = config.num_heads * head_dim
        self.query = nn.Linear(dim, width, bias=config.query_key_bias) if self.score.uses_query else None
        has_key = own_key and self.score.uses_key
        self.key = nn.Linear(dim, width, bias=config.query_key_bias) if has_key else None
        self.value, self.mixing = value_layers(config.values, config.num_heads, head_dim, dim, output_dim)

    def forward(
        self,
        pixels: Pixels,
        key: Float[Tensor, "b n y x d"] | None = None,
        record: bool = False,
        queries: QueryPixels | None = None,
    ) -> AttentionOutput:
        """Attends from every pixel, or only from those at ``queries``, to every pixel.

        A ``key`` that is given replaces the layer's own.
        """
        encoded = self.score.encode(pixels)
        query = None if self.query is None else self._split(self.query(encoded))
        if key is None and self.score.uses_key:
            key = self._split(own(self.key)(encoded))
        values = pixels if self.value is None else self._split(self.value(pixels))
        parts = self.score(tuple(pixels.shape[1:3]), query, key)
        if queries is not None:
            parts = parts.of_queries(*queries)
        if record:
            heads, weights = self._explicit(parts, values)
        else:
            heads, weights = self._fast(parts, values), None
        return AttentionOutput(self.mixing(heads), weights, key)

    def weights(self, height: int, width: int, queries: QueryPixels | None = None) -> Float[Tensor, "n h w y x"]:
        """The weights on a map of any size, for scores that do not depend on the image."""
        if self.score.structure is Structure.CONTENT:
            raise ValueError("the attention weights depend on the image: run the layer with record=True")
        parts = self.score((height, width))
        if queries is not None:
            parts = parts.of_queries(*queries)
        return attention_weights(rows=parts.rows, columns=parts.columns, dense=parts.dense)[0]

    def with_weights(self, weights: AttentionWeights, pixels: Pixels) -> Float[Tensor, "b h w c_out"]:
        """What the layer would put out if its attention had these weights."""
        values = pixels if self.value is None else self._split(self.value(pixels))
        return self.mixing(apply_attention(weights, values))

    def enlarge(self, grid: tuple[int, int]) -> None:
        """Notes that the maps have another size; learned tables are stretched by their own `enlarge`."""
        self.grid = grid

    def _split(self, projected: Float[Tensor, "b h w nd"]) -> Float[Tensor, "b n h w d"]:
        return rearrange(projected, "b h w (n d) -> b n h w d", n=self.num_heads)

    def _explicit(self, parts: ScoreParts, values: Tensor) -> tuple[Tensor, Tensor]:
        weights = attention_weights(parts.query, parts.key, parts.rows, parts.columns, parts.dense)
        if isinstance(self.dropout, DropoutPerBatch):
            applied = F.dropout(weights, self.dropout.probability, self.training)
            applied = applied.expand(len(values), -1, -1, -1, -1, -1)
        else:
            applied = weights.expand(len(values), -1, -1, -1, -1, -1)
            applied = F.dropout(applied, self.dropout.probability, self.training)
        heads = apply_attention(applied, values)
        return heads, weights.expand(len(values), -1, -1, -1, -1, -1)

    def _fast(self, parts: ScoreParts, values: Tensor) -> Tensor:
        probability = self.dropout.probability if self.training else 0.0
        if self.score.structure is Structure.CONTENT:
            written = map_is_faster(values, self.head_dim, parts.dense is not None, probability)
            attend = map_attention if written else fused_attention
            return attend(values, parts.query, parts.key, parts.rows, parts.columns, parts.dense, probability)
        if probability and isinstance(self.dropout, DropoutPerImage):
            return self._explicit(parts, values)[0]
        if self.score.structure is Structure.SEPARABLE and not probability:
            assert parts.rows is not None
            assert parts.columns is not None
            return separable_attention(parts.rows[0, :, :, 0], parts.columns[0, :, 0], values)
        weights = attention_weights(rows=parts.rows, columns=parts.columns, dense=parts.dense)[0]
        return shared_attention(F.dropout(weights, probability, self.training), values)
