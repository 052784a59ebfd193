"""Attention layers that pruning has left without any head: what remains of them is the bias of the output.

Equation 11 is a sum over heads plus ``b_out``; without heads it is ``b_out``, the same for every pixel. Nothing
that scores is kept: no query, key or value, no tables of positions.
"""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from headgrid.attention.attention_output import AttentionOutput
from headgrid.attention.multihead import QueryPixels
from headgrid.attention.token_attention_output import TokenAttentionOutput
from headgrid.axes import Pixels, Tokens
from headgrid.geometry import TokenLayout
from headgrid.layers import HeadMixing


@dataclass(frozen=True)
class HeadlessAttentionConfig:
    """Attention between pixels that has lost all its heads."""

    def build(
        self, dim: int, grid: tuple[int, int], output_dim: int | None = None, own_key: bool = True
    ) -> "HeadlessAttention":
        return HeadlessAttention(dim, output_dim)


class HeadlessAttention(nn.Module):
    """``b_out`` for every pixel, handed back as other attention layers do: its record has maps of no head."""

    num_heads = 0

    def __init__(self, dim: int, output_dim: int | None = None) -> None:
        super().__init__()
        self.mixing = HeadMixing(0, dim, dim if output_dim is None else output_dim)

    def forward(
        self,
        pixels: Pixels,
        key: Float[Tensor, "b n y x d"] | None = None,
        record: bool = False,
        queries: QueryPixels | None = None,
    ) -> AttentionOutput:
        attending = pixels if queries is None else pixels[:, queries[0]][:, :, queries[1]]
        (batch, height, width, dim), grid = attending.shape, pixels.shape[1:3]
        weights = pixels.new_zeros(batch, 0, height, width, *grid) if record else None
        return AttentionOutput(self.mixing(pixels.new_zeros(batch, height, width, 0, dim)), weights, key)


@dataclass(frozen=True)
class HeadlessTokenAttentionConfig:
    """Attention between tokens that has lost all its heads."""

    def build(self, dim: int, layout: TokenLayout, own_key: bool = True) -> "HeadlessTokenAttention":
        return HeadlessTokenAttention(dim, layout)


class HeadlessTokenAttention(nn.Module):
    """As `HeadlessAttention`, for a sequence of tokens."""

    num_heads = 0

    def __init__(self, dim: int, layout: TokenLayout) -> None:
        super().__init__()
        self.layout = layout
        self.mixing = HeadMixing(0, dim, dim)

    def forward(
        self, tokens: Tokens, key: Float[Tensor, "b n s d"] | None = None, record: bool = False
    ) -> TokenAttentionOutput:
        batch, num_tokens, dim = tokens.shape
        weights = tokens.new_zeros(batch, 0, num_tokens, num_tokens) if record else None
        key = tokens.new_zeros(batch, 0, num_tokens, dim) if key is None else key
        values = self.mixing(tokens.new_zeros(batch, num_tokens, 0, dim))
        return TokenAttentionOutput(values, weights, key, self.layout)
