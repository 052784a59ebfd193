"""Attention layers: pixels in, an `AttentionOutput` out."""

from headgrid.attention.attention_output import AttentionOutput
from headgrid.attention.dropout import DropoutPerBatch, DropoutPerImage
from headgrid.attention.gated import GatedPositionalAttention, GatedPositionalAttentionConfig
from headgrid.attention.heads import (
    FullHeads,
    GroupedValues,
    HeadsOfWidth,
    MergedValues,
    ProjectedValues,
    SplitHeads,
)
from headgrid.attention.multihead import MultiheadAttention, MultiheadAttentionConfig, QueryPixels

AttentionConfig = MultiheadAttentionConfig | GatedPositionalAttentionConfig
"""The attentions that a block can have."""

__all__ = [
    "AttentionConfig",
    "AttentionOutput",
    "DropoutPerBatch",
    "DropoutPerImage",
    "FullHeads",
    "GatedPositionalAttention",
    "GatedPositionalAttentionConfig",
    "GroupedValues",
    "HeadsOfWidth",
    "MergedValues",
    "MultiheadAttention",
    "MultiheadAttentionConfig",
    "ProjectedValues",
    "QueryPixels",
    "SplitHeads",
]
