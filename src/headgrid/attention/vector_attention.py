"""What pairwise and patchwise attention have in common: ``y_i = sum over j in R(i) of alpha_ij * beta(x_j)``."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from headgrid.attention.footprint_attention_output import FootprintAttentionOutput
from headgrid.attention.gamma import GammaConfig
from headgrid.attention.own_key import WITHOUT_KEY
from headgrid.attention.transformations import AllDifferent, AllShared, Transformations
from headgrid.axes import Pixels
from headgrid.ops import Footprint, FootprintWeights, explicit_vector_aggregation, vector_aggregation


@dataclass(frozen=True)
class VectorAttentionSizes:
    """The widths that an attention layer is built for."""

    dim: int
    """Channels of a pixel."""
    relation_dim: int
    """Channels of phi and psi, unless they are also beta."""
    value_dim: int
    """Channels of beta and of the output."""


@dataclass(frozen=True)
class VectorAttentionConfig:
    """Local attention with a weight of its own for each group of channels."""

    footprint: Footprint = field(default_factory=Footprint)
    """R(i): which pixels around a query it attends to."""
    transformations: Transformations = field(default_factory=AllDifferent)
    """Which of phi, psi and beta are the same map."""
    gamma: GammaConfig = field(default_factory=GammaConfig)
    """The mapping from relation to weights."""
    sharing: int = 8
    """Number of channels that share a weight."""
    bias: bool = True
    """Whether phi, psi and beta have a bias."""

    def num_groups(self, value_dim: int) -> int:
        """Number of weights per footprint position."""
        if self.sharing < 1 or value_dim % self.sharing:
            raise ValueError(
                f"{value_dim} channels of beta cannot be shared out evenly: sharing = {self.sharing} channels per "
                f"weight must divide their number"
            )
        return value_dim // self.sharing


class VectorAttention(nn.Module, ABC):
    """phi, psi and beta are linear maps of each pixel; alpha is what a subclass makes of phi and psi.

    A ``key`` that is given stands in for psi of the pixels. Where phi = psi is one map, patchwise concatenation
    sees nothing but the key (its footprint includes the query), so there a given key fixes the weights.

    Without ``record`` the layer takes its fastest exact path; with it, relation and footprints are written out and
    the weights are handed back. Both compute the same, including the statistics of batch norms.
    """

    def __init__(self, config: VectorAttentionConfig, sizes: VectorAttentionSizes, own_key: bool) -> None:
        super().__init__()
        self.footprint = config.footprint
        self.num_groups = config.num_groups(sizes.value_dim)
        all_shared = isinstance(config.transformations, AllShared)
        all_different = isinstance(config.transformations, AllDifferent)
        self.relation_dim = sizes.value_dim if all_shared else sizes.relation_dim
        self.phi = nn.Linear(sizes.dim, self.relation_dim, bias=config.bias)
        self.psi = nn.Linear(sizes.dim, self.relation_dim, bias=config.bias) if all_different and own_key else None
        self.beta = None if all_shared else nn.Linear(sizes.dim, sizes.value_dim, bias=config.bias)
        self.has_key = own_key

    @abstractmethod
    def alpha(self, phi: Float[Tensor, "b y x r"], psi: Float[Tensor, "b y x r"], record: bool) -> FootprintWeights:
        """The weight of every position of every footprint."""

    def forward(
        self, pixels: Pixels, key: Float[Tensor, "b y x r"] | None = None, record: bool = False
    ) -> FootprintAttentionOutput:
        """Attends from every pixel to its footprint; a ``key`` that is given replaces the layer's own."""
        if key is None and not self.has_key:
            raise ValueError(WITHOUT_KEY)
        phi, psi, values = self._transform(pixels, key, record)
        weights = self.alpha(phi, psi, record)
        if not record:
            return FootprintAttentionOutput(
                vector_aggregation(values, weights, self.footprint), None, psi, self.footprint
            )
        outputs = explicit_vector_aggregation(values, weights.to(values.dtype), self.footprint)
        return FootprintAttentionOutput(outputs, rearrange(weights, "k b h w n -> b n h w k"), psi, self.footprint)

    def _transform(
        self, pixels: Pixels, key: Float[Tensor, "b y x r"] | None, record: bool
    ) -> tuple[Float[Tensor, "b y x r"], Float[Tensor, "b y x r"], Float[Tensor, "b y x v"]]:
        """phi, psi and beta of every pixel; where nobody looks, as one matrix product that reads pixels once."""
        layers = {"phi": self.phi}
        if self.psi is not None and key is None:
            layers["psi"] = self.psi
        if self.beta is not None:
            layers["beta"] = self.beta
        if record:
            parts = {name: layer(pixels) for name, layer in layers.items()}
        else:
            weight = torch.cat([layer.weight for layer in layers.values()])
            bias = None if self.phi.bias is None else torch.cat([layer.bias for layer in layers.values()])
            joint = F.linear(pixels, weight, bias)
            widths = [layer.out_features for layer in layers.values()]
            parts = dict(zip(layers, joint.split(widths, dim=-1), strict=True))
        phi = parts["phi"]
        return phi, parts.get("psi", phi) if key is None else key, parts.get("beta", phi)
