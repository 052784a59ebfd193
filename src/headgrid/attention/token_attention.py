"""Multi-head attention over a sequence of tokens, as in vision transformers: content is all that it scores."""

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from headgrid.attention.dropout import DropoutPerImage
from headgrid.attention.heads import FullHeads, HeadsOfWidth, SplitHeads
from headgrid.attention.own_key import own
from headgrid.attention.token_attention_output import TokenAttentionOutput
from headgrid.axes import Tokens, TokenWeights
from headgrid.geometry import TokenLayout
from headgrid.layers import HeadMixing

Heads = Float[Tensor, "b n t d"]


@dataclass(frozen=True)
class TokenAttentionConfig:
    """Scaled dot-product attention between tokens; where a token stands, only its own channels can tell."""

    num_heads: int = 12
    """Number of heads N_h."""
    heads: SplitHeads | FullHeads | HeadsOfWidth = field(default_factory=SplitHeads)
    """Width of a head D_h: the token's split between the heads, that of a token, or any."""
    bias: bool = True
    """Whether the query, key and value projections have a bias; the output projection always has one."""
    dropout: DropoutPerImage = field(default_factory=lambda: DropoutPerImage(0.0))
    """Dropout on the attention weights."""

    def build(self, dim: int, layout: TokenLayout, own_key: bool = True) -> "TokenAttention":
        """The layer for tokens of ``dim`` channels; without a key of its own, it works on keys that it is given."""
        return TokenAttention(self, dim, layout, own_key)


class TokenAttention(nn.Module):
    """``sum_h softmax(Q^h K^hT / sqrt(D_h)) V^h W^(h) + b_out``.

    Without ``record`` the fused kernel runs where it is faster; with it, the weights are written out and returned.
    """

    def __init__(self, config: TokenAttentionConfig, dim: int, layout: TokenLayout, own_key: bool) -> None:
        super().__init__()
        if config.num_heads < 1:
            raise ValueError(f"attention needs at least one head, got num_heads = {config.num_heads}")
        self.num_heads, self.head_dim = config.num_heads, config.heads.head_dim(dim, config.num_heads)
        self.layout, self.dropout = layout, config.dropout
        width = self.num_heads * self.head_dim
        self.query = nn.Linear(dim, width, bias=config.bias)
        self.key = nn.Linear(dim, width, bias=config.bias) if own_key else None
        self.value = nn.Linear(dim, width, bias=config.bias)
        self.mixing = HeadMixing(self.num_heads, self.head_dim, dim)

    def forward(self, tokens: Tokens, key: Heads | None = None, record: bool = False) -> TokenAttentionOutput:
        """Attends from every token to every token; a ``key`` that is given replaces the layer's own."""
        query, value = self._split(self.query(tokens)), self._split(self.value(tokens))
        if key is None:  # in one piece, because a key that is kept is used again and again
            key = self._split(own(self.key)(tokens)).contiguous()
        weights = None
        if record or self._map_is_faster(tokens):
            heads, weights = self._explicit(query, key, value)
        else:
            heads = F.scaled_dot_product_attention(query, key, value, dropout_p=self._dropout_probability)
        values = self.mixing(rearrange(heads, "b n t d -> b t n d"))
        return TokenAttentionOutput(values, weights if record else None, key, self.layout)

    @property
    def _dropout_probability(self) -> float:
        return self.dropout.probability if self.training else 0.0

    def _map_is_faster(self, tokens: Tokens) -> bool:
        """On a CPU the fused kernel gains on long sequences only, and with dropout it writes the map anyway."""
        return tokens.device.type == "cpu" and (tokens.shape[1] <= self.head_dim or self._dropout_probability > 0)

    def _explicit(self, query: Heads, key: Heads, value: Heads) -> tuple[Heads, TokenWeights]:
        scores = torch.einsum("bntd,bnsd->bnts", query * self.head_dim**-0.5, key)
        # At least in float32: weights in bfloat16 may miss one by a percent.
        weights = torch.softmax(scores, dim=-1, dtype=torch.promote_types(scores.dtype, torch.float32))
        applied = F.dropout(weights, self._dropout_probability).to(value.dtype)
        return torch.einsum("bnts,bnsd->bntd", applied, value), weights

    def _split(self, projected: Float[Tensor, "b t nd"]) -> Heads:
        return rearrange(projected, "b t (n d) -> b n t d", n=self.num_heads)
