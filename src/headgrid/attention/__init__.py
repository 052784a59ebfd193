"""Attention layers: pixels in, an `AttentionOutput` out."""

from headgrid.attention.attention_output import AttentionOutput
from headgrid.attention.dropout import DropoutPerBatch, DropoutPerImage
from headgrid.attention.heads import (
    FullHeads,
    GroupedValues,
    HeadsOfWidth,
    MergedValues,
    ProjectedValues,
    SplitHeads,
)
from headgrid.attention.multihead import MultiheadAttention, MultiheadAttentionConfig, QueryPixels

__all__ = [
    "AttentionOutput",
    "DropoutPerBatch",
    "DropoutPerImage",
    "FullHeads",
    "GroupedValues",
    "HeadsOfWidth",
    "MergedValues",
    "MultiheadAttention",
    "MultiheadAttentionConfig",
    "ProjectedValues",
    "QueryPixels",
    "SplitHeads",
]
