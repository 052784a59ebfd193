"""From a model, or what it recorded, to arrays."""

from headgrid.analysis.attention_record import AttentionRecord, LayerAttention, Placement, TokenAttention
from headgrid.analysis.average_attention import AverageAttention, average_attention, mean_average_attention
from headgrid.analysis.centers import (
    HeadCenters,
    Trajectories,
    centers_of_row,
    contour,
    describe_centers,
    head_centers,
    trajectories,
)
from headgrid.analysis.fitted_centers import fitted_centers
from headgrid.analysis.head_order import head_order
from headgrid.analysis.measure_attention import Thresholds, measure_attention, measure_records
from headgrid.analysis.measures import AttentionMeasures, HeadMeasures, KernelCover, KernelShape, LayerMeasures
from headgrid.analysis.query_attention import mean_query_attention, query_attention
from headgrid.analysis.record_attention import record_attention, record_batches
from headgrid.analysis.rollout import Rollout, rollout, rollout_between_pixels
from headgrid.analysis.shift_distribution import ShiftDistribution, shift_distribution, shift_distributions

__all__ = [
    "AttentionMeasures",
    "AttentionRecord",
    "AverageAttention",
    "HeadCenters",
    "HeadMeasures",
    "KernelCover",
    "KernelShape",
    "LayerAttention",
    "LayerMeasures",
    "Placement",
    "Rollout",
    "ShiftDistribution",
    "Thresholds",
    "TokenAttention",
    "Trajectories",
    "average_attention",
    "centers_of_row",
    "contour",
    "describe_centers",
    "fitted_centers",
    "head_centers",
    "head_order",
    "mean_average_attention",
    "mean_query_attention",
    "measure_attention",
    "measure_records",
    "query_attention",
    "record_attention",
    "record_batches",
    "rollout",
    "rollout_between_pixels",
    "shift_distribution",
    "shift_distributions",
    "trajectories",
]
