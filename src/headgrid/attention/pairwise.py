"""Pairwise self-attention (SAN, section 3.1): ``alpha(x_i, x_j) = softmax over R(i) of gamma(delta(x_i, x_j))``."""

from dataclasses import dataclass, field

import torch
from einops import repeat
from jaxtyping import Float
from torch import Tensor

from headgrid.attention.gamma import Gamma
from headgrid.attention.vector_attention import VectorAttention, VectorAttentionConfig, VectorAttentionSizes
from headgrid.encodings import CoordinateEncoding
from headgrid.ops import (
    FootprintWeights,
    at_queries,
    concatenation,
    dot_product,
    hadamard_product,
    local_dot_product,
    neighbours,
    pairwise_sum_linear,
    pairwise_sum_moments,
    product_type,
    subtraction,
    summation,
)


@dataclass(frozen=True)
class Summation:
    """delta = phi(x_i) + psi(x_j)."""

    def num_channels(self, relation_dim: int) -> int:
        return relation_dim


@dataclass(frozen=True)
class Subtraction:
    """delta = phi(x_i) - psi(x_j)."""

    def num_channels(self, relation_dim: int) -> int:
        return relation_dim


@dataclass(frozen=True)
class Concatenation:
    """delta = [phi(x_i), psi(x_j)]."""

    def num_channels(self, relation_dim: int) -> int:
        return 2 * relation_dim


@dataclass(frozen=True)
class HadamardProduct:
    """delta = phi(x_i) * psi(x_j), channel by channel."""

    def num_channels(self, relation_dim: int) -> int:
        return relation_dim


@dataclass(frozen=True)
class DotProduct:
    """delta = phi(x_i)^T psi(x_j)."""

    def num_channels(self, relation_dim: int) -> int:
        return 1


PairwiseRelation = Summation | Subtraction | Concatenation | HadamardProduct | DotProduct

_EQUATIONS = {
    Summation: summation,
    Subtraction: subtraction,
    Concatenation: concatenation,
    HadamardProduct: hadamard_product,
    DotProduct: dot_product,
}


@dataclass(frozen=True)
class NoPosition:
    """The weights do not know where pixels stand."""


@dataclass(frozen=True)
class AbsolutePosition:
    """Two channels of the relation are the key's position p_j."""


@dataclass(frozen=True)
class RelativePosition:
    """Two channels of the relation are p_i - p_j."""


@dataclass(frozen=True)
class PairwiseAttentionConfig(VectorAttentionConfig):
    """Pairwise attention: a weight is a function of two pixels; a set operator, but for the position."""

    relation: PairwiseRelation = field(default_factory=Subtraction)
    """delta: what is compared of a query and a key."""
    position: NoPosition | AbsolutePosition | RelativePosition = field(default_factory=RelativePosition)
    """What the relation knows of positions."""

    def build(self, dim: int, relation_dim: int, value_dim: int, own_key: bool = True) -> "PairwiseAttention":
        """The layer for pixels of ``dim`` channels; without a key of its own, it works on keys that it is given."""
        return PairwiseAttention(self, VectorAttentionSizes(dim, relation_dim, value_dim), own_key)


class PairwiseAttention(VectorAttention):
    """phi, psi -> delta (with two channels of position) -> gamma -> softmax over the footprint -> alpha.

    Mirrored keys have the position of the pixel that they mirror, as in the official code.
    """

    def __init__(self, config: PairwiseAttentionConfig, sizes: VectorAttentionSizes, own_key: bool) -> None:
        super().__init__(config, sizes, own_key)
        self.relation, self.position = config.relation, config.position
        has_position = not isinstance(config.position, NoPosition)
        num_channels = config.relation.num_channels(self.relation_dim) + (2 if has_position else 0)
        self.coordinates = CoordinateEncoding() if has_position else None
        self.gamma = Gamma(config.gamma, num_channels, sizes.relation_dim, self.num_groups)

    def alpha(self, phi: Float[Tensor, "b y x r"], psi: Float[Tensor, "b y x r"], record: bool) -> FootprintWeights:
        if not record and isinstance(self.relation, Summation | Subtraction):
            logits = self.gamma.after_first(self._first_of_sum(phi, psi))
        else:
            logits = self.gamma(self.delta(phi, psi, record), record)
        return torch.softmax(logits, dim=0, dtype=torch.promote_types(logits.dtype, torch.float32))

    def delta(
        self, phi: Float[Tensor, "b y x r"], psi: Float[Tensor, "b y x r"], record: bool
    ) -> Float[Tensor, "k b h w c"]:
        """The relation of every query and every key of its footprint, positions included."""
        queries = at_queries(phi, self.footprint)
        if not record and isinstance(self.relation, DotProduct):
            delta = local_dot_product(queries, psi, self.footprint)[..., None]
        else:
            delta = _EQUATIONS[type(self.relation)](queries, neighbours(psi, self.footprint))
        if self.coordinates is None:
            return delta
        encoded = self.coordinates(*psi.shape[1:3])[None]
        positions = neighbours(encoded, self.footprint)
        if isinstance(self.position, RelativePosition):
            positions = at_queries(encoded, self.footprint) - positions
        return torch.cat([delta, positions.expand(*delta.shape[:-1], -1).to(delta.dtype)], dim=-1)

    def _first_of_sum(
        self, phi: Float[Tensor, "b y x r"], psi: Float[Tensor, "b y x r"]
    ) -> Float[Tensor, "k b h w c_hidden"]:
        """The first layer of gamma on a relation that is a sum of a query part and a key part."""
        exact = torch.promote_types(phi.dtype, torch.float32)
        queries, keys = phi.to(exact), psi.to(exact)
        if isinstance(self.relation, Subtraction):
            keys = -keys
        if self.coordinates is not None:
            encoded = repeat(self.coordinates(*psi.shape[1:3]), "y x p -> b y x p", b=len(psi))
            relative = isinstance(self.position, RelativePosition)
            queries = torch.cat([queries, encoded if relative else torch.zeros_like(encoded)], dim=-1)
            keys = torch.cat([keys, -encoded if relative else encoded], dim=-1)
        queries = at_queries(queries, self.footprint)

        first, footprint = self.gamma.first, self.footprint
        num_pairs = queries[..., 0].numel() * footprint.num_positions
        moments = first.moments(lambda: pairwise_sum_moments(queries, keys, footprint), num_pairs)
        slope, offset = first.affine(*moments)
        hidden = pairwise_sum_linear(
            queries * slope + offset,
            keys * slope,
            first.linear.weight.to(product_type(first.linear.weight)),
            footprint,
        )
        return hidden if first.linear.bias is None else hidden + first.linear.bias
