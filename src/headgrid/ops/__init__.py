"""Pure functions without parameters. Every fast one has a slow, obvious twin that the tests compare it with."""

from headgrid.ops.convolution import convolution
from headgrid.ops.explicit_attention import apply_attention, attention_weights
from headgrid.ops.fused_attention import fused_attention
from headgrid.ops.grid_softmax import grid_softmax
from headgrid.ops.separable_attention import separable_attention
from headgrid.ops.shared_attention import shared_attention

__all__ = [
    "apply_attention",
    "attention_weights",
    "convolution",
    "fused_attention",
    "grid_softmax",
    "separable_attention",
    "shared_attention",
]
