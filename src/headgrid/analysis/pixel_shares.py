"""How a query divides its attention among the pixels: what all measures of heads speak of.

The weights of a softmax over pixels are these shares already. Three things can come between:

- *Tokens* (class token, registers) take a part of a query's attention. It is measured apart, and what is left for
  pixels is made to sum to one.
- *Patchwise attention* (SAN) has no softmax: its weights may be negative and sum to anything. Their absolute values
  are taken, since a pixel with a large negative weight is looked at as much as one with a large positive one.
- A query may look at *no pixel at all*: everything goes to tokens, or all weights are zero. It says nothing about
  where its head looks, and its shares are even.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from headgrid.analysis.attention_record import LayerAttention
from headgrid.analysis.float64 import in_float64


def pixel_shares(weights: Float[Tensor, "*maps y x"]) -> Float[Tensor, "*maps y x"]:
    """The share of each key pixel in a query's attention, in float64; every query's shares sum to one."""
    strength = in_float64(weights).abs()
    total = strength.sum(dim=(-2, -1), keepdim=True)
    even = 1 / (weights.shape[-2] * weights.shape[-1])
    return torch.where(total > 0, strength / torch.where(total > 0, total, 1.0), even)


def token_shares(layer: LayerAttention) -> Float[Tensor, "b n"]:
    """The share of the pixels' attention that goes to tokens, as a mean over queries; 0 without tokens."""
    if layer.tokens is None:
        return torch.zeros(layer.weights.shape[:2], dtype=torch.float64)
    to_tokens = in_float64(layer.tokens.from_pixels).sum(dim=-1)
    to_pixels = in_float64(layer.weights).sum(dim=(-2, -1))
    return (to_tokens / (to_tokens + to_pixels)).mean(dim=(-2, -1))


def negative_shares(weights: Float[Tensor, "*maps y x"]) -> Float[Tensor, "*maps"]:
    """The share of negative weights in a query's absolute ones: 0 for a softmax."""
    weights = in_float64(weights).flatten(-2)
    total = weights.abs().sum(dim=-1)
    return -weights.clamp_max(0).sum(dim=-1) / torch.where(total > 0, total, 1.0)
