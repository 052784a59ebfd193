"""Patchwise self-attention (SAN, section 3.2): ``alpha(x_R(i)) = gamma(delta(x_R(i)))``, and no softmax."""

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from torch import Tensor

from headgrid.attention.gamma import Gamma
from headgrid.attention.transformations import AllDifferent
from headgrid.attention.vector_attention import VectorAttention, VectorAttentionConfig, VectorAttentionSizes
from headgrid.ops import (
    FootprintWeights,
    at_queries,
    clique_product,
    local_dot_product,
    neighbours,
    patch_concatenation,
    patch_linear,
    patch_moments,
    product_type,
    star_product,
)


@dataclass(frozen=True)
class StarProduct:
    """delta = [phi(x_i)^T psi(x_j) for all j]."""


@dataclass(frozen=True)
class CliqueProduct:
    """delta = [phi(x_j)^T psi(x_k) for all j, k]."""


@dataclass(frozen=True)
class PatchConcatenation:
    """delta = [phi(x_i), [psi(x_j) for all j]]; where phi = psi, phi(x_i) is the centre and not repeated."""


@dataclass(frozen=True)
class PatchwiseAttentionConfig(VectorAttentionConfig):
    """Patchwise attention: the weights of a footprint are a function of all its pixels at once."""

    relation: StarProduct | CliqueProduct | PatchConcatenation = field(default_factory=PatchConcatenation)
    """delta: what gamma sees of the footprint."""

    def build(self, dim: int, relation_dim: int, value_dim: int, own_key: bool = True) -> "PatchwiseAttention":
        """The layer for pixels of ``dim`` channels; without a key of its own, it works on keys that it is given."""
        return PatchwiseAttention(self, VectorAttentionSizes(dim, relation_dim, value_dim), own_key)


class PatchwiseAttention(VectorAttention):
    """phi, psi -> delta of the footprint -> gamma -> alpha for all its positions.

    gamma's result counts the groups within a position. (The official code counts the positions within a group.)
    """

    def __init__(self, config: PatchwiseAttentionConfig, sizes: VectorAttentionSizes, own_key: bool) -> None:
        super().__init__(config, sizes, own_key)
        self.relation = config.relation
        self.repeats_query = isinstance(config.transformations, AllDifferent)
        num_positions = self.footprint.num_positions
        self.gamma = Gamma(config.gamma, self._num_channels(), self.num_groups, num_positions * self.num_groups)

    def alpha(self, phi: Float[Tensor, "b y x r"], psi: Float[Tensor, "b y x r"], record: bool) -> FootprintWeights:
        if not record and isinstance(self.relation, PatchConcatenation):
            weights = self.gamma.after_first(self._first_of_patch(phi, psi))
        else:
            weights = self.gamma(self.delta(phi, psi, record), record)
        return rearrange(weights, "b h w (k g) -> k b h w g", g=self.num_groups)

    def delta(
        self, phi: Float[Tensor, "b y x r"], psi: Float[Tensor, "b y x r"], record: bool
    ) -> Float[Tensor, "b h w c"]:
        """The relation of every query's footprint."""
        queries = at_queries(phi, self.footprint)
        if not record and isinstance(self.relation, StarProduct):
            return rearrange(local_dot_product(queries, psi, self.footprint), "k b h w -> b h w k")
        keys = neighbours(psi, self.footprint)
        if isinstance(self.relation, CliqueProduct):
            return clique_product(neighbours(phi, self.footprint), keys)
        if isinstance(self.relation, StarProduct):
            return star_product(queries, keys)
        return patch_concatenation(queries if self.repeats_query else None, keys)

    def _num_channels(self) -> int:
        num_positions = self.footprint.num_positions
        if isinstance(self.relation, CliqueProduct):
            return num_positions**2
        if isinstance(self.relation, StarProduct):
            return num_positions
        return self.relation_dim * (num_positions + (1 if self.repeats_query else 0))

    def _first_of_patch(
        self, phi: Float[Tensor, "b y x r"], psi: Float[Tensor, "b y x r"]
    ) -> Float[Tensor, "b h w c_hidden"]:
        """The first layer of gamma on a concatenation, which is a sum over its parts."""
        first, footprint = self.gamma.first, self.footprint
        exact = torch.promote_types(phi.dtype, torch.float32)
        queries, psi = at_queries(phi, footprint).to(exact), psi.to(exact)
        slope, offset = first.affine(*first.moments(lambda: self._moments(queries, psi), queries[..., 0].numel()))
        weight = first.linear.weight.to(product_type(first.linear.weight))
        num_queries = self.relation_dim if self.repeats_query else 0

        of_keys = rearrange(weight[:, num_queries:], "o (k r) -> k o r", r=self.relation_dim)
        key_slope, key_offset = (
            rearrange(part[num_queries:], "(k r) -> k r", r=self.relation_dim) for part in (slope, offset)
        )
        hidden = patch_linear(psi, key_slope, key_offset, of_keys.contiguous(), footprint)
        if self.repeats_query:
            normalized = F.relu(torch.addcmul(offset[:num_queries], queries, slope[:num_queries]))
            hidden = hidden + F.linear(normalized.to(weight.dtype), weight[:, :num_queries])
        return hidden if first.linear.bias is None else hidden + first.linear.bias

    def _moments(
        self, queries: Float[Tensor, "b h w r"], psi: Float[Tensor, "b y x r"]
    ) -> tuple[Float[Tensor, "c"], Float[Tensor, "c"]]:
        """Mean and variance of every channel of the concatenation."""
        means, variances = (moment.flatten() for moment in patch_moments(psi, self.footprint))
        if not self.repeats_query:
            return means, variances
        variance, mean = torch.var_mean(queries, dim=(0, 1, 2), correction=0)
        return torch.cat([mean, means]), torch.cat([variance, variances])
