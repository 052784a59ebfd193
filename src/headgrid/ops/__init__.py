"""Pure functions without parameters. Every fast one has a slow, obvious twin that the tests compare it with."""

from headgrid.ops.convolution import convolution
from headgrid.ops.explicit_attention import apply_attention, attention_weights
from headgrid.ops.footprint import (
    Footprint,
    ReflectionPadding,
    ZeroPadding,
    at_queries,
    dense_weights,
    neighbours,
)
from headgrid.ops.footprint_products import FootprintWeights
from headgrid.ops.fused_attention import fused_attention, map_is_faster
from headgrid.ops.fused_pairwise import pairwise_sum_linear, pairwise_sum_moments
from headgrid.ops.fused_patchwise import patch_linear, patch_moments
from headgrid.ops.grid_softmax import grid_softmax
from headgrid.ops.local_dot_product import local_dot_product
from headgrid.ops.map_attention import map_attention
from headgrid.ops.normalized_linear import normalized_linear, row_moments
from headgrid.ops.pairwise_relation import concatenation, dot_product, hadamard_product, subtraction, summation
from headgrid.ops.patchwise_relation import clique_product, patch_concatenation, star_product
from headgrid.ops.precision import product_type, without_autocast
from headgrid.ops.separable_attention import separable_attention
from headgrid.ops.shared_attention import shared_attention
from headgrid.ops.vector_aggregation import explicit_vector_aggregation, vector_aggregation

__all__ = [
    "Footprint",
    "FootprintWeights",
    "ReflectionPadding",
    "ZeroPadding",
    "apply_attention",
    "at_queries",
    "attention_weights",
    "clique_product",
    "concatenation",
    "convolution",
    "dense_weights",
    "dot_product",
    "explicit_vector_aggregation",
    "fused_attention",
    "grid_softmax",
    "hadamard_product",
    "local_dot_product",
    "map_attention",
    "map_is_faster",
    "neighbours",
    "normalized_linear",
    "pairwise_sum_linear",
    "pairwise_sum_moments",
    "patch_concatenation",
    "patch_linear",
    "patch_moments",
    "product_type",
    "row_moments",
    "separable_attention",
    "shared_attention",
    "star_product",
    "subtraction",
    "summation",
    "vector_aggregation",
    "without_autocast",
]
