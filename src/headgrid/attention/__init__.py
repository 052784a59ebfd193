"""Attention layers: pixels in, an `AttentionOutput` out."""

from headgrid.attention.attention_output import AttentionOutput
from headgrid.attention.dropout import DropoutPerBatch, DropoutPerImage
from headgrid.attention.footprint_attention_output import FootprintAttentionOutput
from headgrid.attention.gamma import ConstantGamma, Gamma, GammaConfig, RandomGamma
from headgrid.attention.gated import GatedPositionalAttention, GatedPositionalAttentionConfig
from headgrid.attention.headless import (
    HeadlessAttention,
    HeadlessAttentionConfig,
    HeadlessTokenAttention,
    HeadlessTokenAttentionConfig,
)
from headgrid.attention.heads import (
    FullHeads,
    GroupedValues,
    HeadsOfWidth,
    MergedValues,
    ProjectedValues,
    SplitHeads,
)
from headgrid.attention.multihead import MultiheadAttention, MultiheadAttentionConfig, QueryPixels
from headgrid.attention.pairwise import (
    AbsolutePosition,
    Concatenation,
    DotProduct,
    HadamardProduct,
    NoPosition,
    PairwiseAttention,
    PairwiseAttentionConfig,
    RelativePosition,
    Subtraction,
    Summation,
)
from headgrid.attention.patchwise import (
    CliqueProduct,
    PatchConcatenation,
    PatchwiseAttention,
    PatchwiseAttentionConfig,
    StarProduct,
)
from headgrid.attention.token_attention import TokenAttention, TokenAttentionConfig
from headgrid.attention.token_attention_output import TokenAttentionOutput
from headgrid.attention.transformations import AllDifferent, AllShared, SharedPhiPsi

AttentionConfig = MultiheadAttentionConfig | GatedPositionalAttentionConfig
"""The attentions that a block can have."""

BlockAttentionConfig = AttentionConfig | HeadlessAttentionConfig
BlockTokenAttentionConfig = TokenAttentionConfig | HeadlessTokenAttentionConfig
"""What pruning can make of a block's attention as well: one without heads."""

__all__ = [
    "AbsolutePosition",
    "AllDifferent",
    "AllShared",
    "AttentionConfig",
    "AttentionOutput",
    "BlockAttentionConfig",
    "BlockTokenAttentionConfig",
    "CliqueProduct",
    "Concatenation",
    "ConstantGamma",
    "DotProduct",
    "DropoutPerBatch",
    "DropoutPerImage",
    "FootprintAttentionOutput",
    "FullHeads",
    "Gamma",
    "GammaConfig",
    "GatedPositionalAttention",
    "GatedPositionalAttentionConfig",
    "GroupedValues",
    "HadamardProduct",
    "HeadlessAttention",
    "HeadlessAttentionConfig",
    "HeadlessTokenAttention",
    "HeadlessTokenAttentionConfig",
    "HeadsOfWidth",
    "MergedValues",
    "MultiheadAttention",
    "MultiheadAttentionConfig",
    "NoPosition",
    "PairwiseAttention",
    "PairwiseAttentionConfig",
    "PatchConcatenation",
    "PatchwiseAttention",
    "PatchwiseAttentionConfig",
    "ProjectedValues",
    "QueryPixels",
    "RandomGamma",
    "RelativePosition",
    "SharedPhiPsi",
    "SplitHeads",
    "StarProduct",
    "Subtraction",
    "Summation",
    "TokenAttention",
    "TokenAttentionConfig",
    "TokenAttentionOutput",
]
