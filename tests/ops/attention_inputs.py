"""Random arguments of the attention operators, drawn by hypothesis: small maps that are seldom square."""

from dataclasses import dataclass

import torch
from hypothesis import strategies as st
from torch import Tensor

from headgrid.ops import apply_attention, attention_weights


@dataclass(frozen=True)
class Sizes:
    """Everything that an operator's arguments are made from."""

    batch: int
    num_heads: int
    height: int
    width: int
    num_rows: int
    num_columns: int
    channels: int
    head_dim: int
    own_values: bool
    seed: int


sizes = st.builds(
    Sizes,
    batch=st.integers(1, 3),
    num_heads=st.integers(1, 4),
    height=st.integers(1, 5),
    width=st.integers(1, 5),
    num_rows=st.integers(1, 6),
    num_columns=st.integers(1, 6),
    channels=st.integers(1, 7),
    head_dim=st.integers(1, 7),
    own_values=st.booleans(),
    seed=st.integers(0, 2**16),
)
"""Queries are as many as the keys, more, or fewer."""


def random(*size: int) -> Tensor:
    return torch.randn(size, dtype=torch.float64, requires_grad=True)


def random_values(of: Sizes) -> Tensor:
    heads = (of.num_heads,) if of.own_values else ()
    return random(of.batch, *heads, of.num_rows, of.num_columns, of.channels)


def explicit(values: Tensor, **parts: Tensor | None) -> Tensor:
    """The slow twin of every operator."""
    weights = attention_weights(**parts)
    return apply_attention(weights.expand(len(values), -1, -1, -1, -1, -1), values)


def assert_same_values_and_gradients(fast: Tensor, slow: Tensor, inputs: list[Tensor]) -> None:
    assert fast.shape == slow.shape
    torch.testing.assert_close(fast, slow, rtol=0, atol=1e-12)
    direction = torch.randn_like(slow)
    torch.testing.assert_close(
        torch.autograd.grad(fast, inputs, direction),
        torch.autograd.grad(slow, inputs, direction),
        rtol=1e-11,
        atol=1e-11,
    )
