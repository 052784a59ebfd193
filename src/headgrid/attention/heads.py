"""How wide a head is (the remark on D_h and D_out in section 3.1) and how values become outputs."""

from dataclasses import dataclass

from torch import nn

from headgrid.layers import GroupedHeadMixing, HeadMixing


@dataclass(frozen=True)
class FullHeads:
    """D_h = D_out: every head is as wide as a pixel, so that it can hold a whole filter matrix."""

    def head_dim(self, dim: int, num_heads: int) -> int:
        return dim


@dataclass(frozen=True)
class SplitHeads:
    """D_h = D_out / N_h: the heads share the width, as in most transformers; their matrices have rank D_h."""

    def head_dim(self, dim: int, num_heads: int) -> int:
        if dim % num_heads:
            raise ValueError(
                f"split heads need a width divisible by the number of heads: {dim} is not by {num_heads}"
            )
        return dim // num_heads


@dataclass(frozen=True)
class HeadsOfWidth:
    """D_h chosen freely: a head's matrix then has at most this rank (the remark after Lemma 1)."""

    width: int = 64
    """Channels of a head, D_h."""

    def head_dim(self, dim: int, num_heads: int) -> int:
        if self.width < 1:
            raise ValueError(f"a head needs at least one channel, got width = {self.width}")
        return self.width


@dataclass(frozen=True)
class MergedValues:
    """Heads average the raw pixels; one linear layer is value and output matrix of all (equation 11)."""


@dataclass(frozen=True)
class GroupedValues:
    """As merged values, but channels of different groups never meet, as in a grouped convolution."""

    num_groups: int = 1
    """Number of groups; as many as there are channels make a depth-wise layer."""


@dataclass(frozen=True)
class ProjectedValues:
    """A value projection for every head, then an output projection with bias (equations 1 and 4)."""

    bias: bool = False
    """Whether the value projection has a bias."""


def value_layers(
    values: MergedValues | GroupedValues | ProjectedValues,
    num_heads: int,
    head_dim: int,
    dim: int,
    output_dim: int | None = None,
) -> tuple[nn.Linear | None, HeadMixing | GroupedHeadMixing]:
    """The value projection, if there is one, and the layer that turns the heads into ``output_dim`` channels."""
    output_dim = dim if output_dim is None else output_dim
    if isinstance(values, ProjectedValues):
        projection = nn.Linear(dim, num_heads * head_dim, bias=values.bias)
        return projection, HeadMixing(num_heads, head_dim, output_dim)
    if head_dim != dim:
        raise ValueError(
            f"heads of {head_dim} channels on pixels of {dim} need projected values: merged and grouped values are "
            f"as wide as a pixel"
        )
    if isinstance(values, GroupedValues):
        return None, GroupedHeadMixing(values.num_groups, num_heads, head_dim, output_dim)
    return None, HeadMixing(num_heads, head_dim, output_dim)
