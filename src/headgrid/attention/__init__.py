"""Attention layers: pixels in, an `AttentionOutput` out."""

from headgrid.attention.attention_output import AttentionOutput
from headgrid.attention.dropout import DropoutPerBatch, DropoutPerImage
from headgrid.attention.heads import FullHeads, MergedValues, ProjectedValues, SplitHeads
from headgrid.attention.multihead import MultiheadAttention, MultiheadAttentionConfig

__all__ = [
    "AttentionOutput",
    "DropoutPerBatch",
    "DropoutPerImage",
    "FullHeads",
    "MergedValues",
    "MultiheadAttention",
    "MultiheadAttentionConfig",
    "ProjectedValues",
    "SplitHeads",
]
