"""Few query rows or few query columns: the cheaper axis is mixed first, and the result is the same."""

import pytest
import torch

from headgrid.ops import apply_attention, attention_weights, separable_attention


@pytest.mark.parametrize("own_values", [False, True])
@pytest.mark.parametrize(("height", "width"), [(1, 8), (2, 6), (5, 1), (5, 8), (4, 2)])
def test_agrees_with_the_explicit_map_values_and_gradients(height, width, own_values):
    torch.manual_seed(0)
    rows = torch.randn(3, height, 5, dtype=torch.float64, requires_grad=True)
    columns = torch.randn(3, width, 8, dtype=torch.float64, requires_grad=True)
    shape = (2, 3, 5, 8, 4) if own_values else (2, 5, 8, 4)
    values = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    fast = separable_attention(rows, columns, values)
    weights = attention_weights(rows=rows[None, :, :, None], columns=columns[None, :, None])
    slow = apply_attention(weights.expand(2, -1, -1, -1, -1, -1), values)
    torch.testing.assert_close(fast, slow)
    direction = torch.randn_like(fast)
    torch.testing.assert_close(
        torch.autograd.grad(fast, (rows, columns, values), direction),
        torch.autograd.grad(slow, (rows, columns, values), direction),
    )
