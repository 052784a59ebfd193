"""One map for the whole batch, applied as one product, against the map of each image."""

import pytest
import torch
from attention_inputs import Sizes, assert_same_values_and_gradients, explicit, random, random_values, sizes
from hypothesis import given, settings

from headgrid.ops import attention_weights, shared_attention


@settings(max_examples=40, deadline=None)
@given(sizes)
def test_agrees_with_the_explicit_map(of: Sizes):
    torch.manual_seed(of.seed)
    dense = random(of.num_heads, of.height, of.width, of.num_rows, of.num_columns)
    values = random_values(of)
    fast = shared_attention(attention_weights(dense=dense)[0], values)
    assert_same_values_and_gradients(fast, explicit(values, dense=dense), [dense, values])


@pytest.mark.parametrize("own_values", [False, True])
def test_gradcheck(own_values):
    torch.manual_seed(0)
    values = random(2, 2, 3, 2, 2) if own_values else random(2, 3, 2, 2)
    assert torch.autograd.gradcheck(shared_attention, (random(2, 2, 1, 3, 2), values))
