"""From a model, or what it recorded, to arrays."""

from headgrid.analysis.attention_record import AttentionRecord, LayerAttention, Placement, TokenAttention
from headgrid.analysis.centers import HeadCenters, centers_of_row, contour, describe_centers, head_centers
from headgrid.analysis.measures import AttentionMeasures, HeadMeasures, KernelCover, LayerMeasures
from headgrid.analysis.record_attention import record_attention, record_batches

__all__ = [
    "AttentionMeasures",
    "AttentionRecord",
    "HeadCenters",
    "HeadMeasures",
    "KernelCover",
    "LayerAttention",
    "LayerMeasures",
    "Placement",
    "TokenAttention",
    "centers_of_row",
    "contour",
    "describe_centers",
    "head_centers",
    "record_attention",
    "record_batches",
]
