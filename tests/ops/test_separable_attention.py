"""Two small products per head against the N x N map that they stand for."""

import pytest
import torch
from attention_inputs import Sizes, assert_same_values_and_gradients, explicit, random, random_values, sizes
from hypothesis import given, settings
from torch.utils._python_dispatch import TorchDispatchMode

from headgrid.attention import MultiheadAttentionConfig
from headgrid.ops import separable_attention


@settings(max_examples=40, deadline=None)
@given(sizes)
def test_agrees_with_the_explicit_map(of: Sizes):
    torch.manual_seed(of.seed)
    rows, columns = random(of.num_heads, of.height, of.num_rows), random(of.num_heads, of.width, of.num_columns)
    values = random_values(of)
    fast = separable_attention(rows, columns, values)
    slow = explicit(values, rows=rows[None, :, :, None], columns=columns[None, :, None])
    assert_same_values_and_gradients(fast, slow, [rows, columns, values])


@pytest.mark.parametrize("own_values", [False, True])
def test_gradcheck(own_values):
    torch.manual_seed(0)
    values = random(2, 2, 3, 4, 2) if own_values else random(2, 3, 4, 2)
    assert torch.autograd.gradcheck(separable_attention, (random(2, 2, 3), random(2, 3, 4), values))


class LargestTensor(TorchDispatchMode):
    """Notes how many elements the largest result of any operation had, in forward and backward."""

    num_elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for part in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(part, torch.Tensor):
                self.num_elements = max(self.num_elements, part.numel())
        return result


@pytest.mark.parametrize("channels", [4, 16])
def test_no_map_exists_on_224_x_224_pixels(channels):
    """A single map of a single head would have 2.5 billion entries, all maps 90 gigabytes."""
    layer = MultiheadAttentionConfig(num_heads=9).build(channels, (224, 224)).eval()
    pixels = torch.randn(1, 224, 224, channels, requires_grad=True)
    with LargestTensor() as largest:
        layer(pixels).values.sum().backward()
    assert pixels.grad is not None
    assert largest.num_elements == 9 * pixels.numel()  # the heads side by side


def test_the_measure_of_the_test_above_sees_maps():
    layer = MultiheadAttentionConfig(num_heads=2).build(4, (8, 12)).eval()
    with LargestTensor() as largest:
        layer(torch.randn(1, 8, 12, 4), record=True)
    assert largest.num_elements >= 2 * (8 * 12) ** 2
