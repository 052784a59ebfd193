"""The map that is written once, in the values' precision, against the explicit one."""

import pytest
import torch
from attention_inputs import Sizes, assert_same_values_and_gradients, explicit, random_values
from hypothesis import given, settings
from test_fused_attention import parts_of_a_score

from headgrid.ops import apply_attention, attention_weights, map_attention


@settings(max_examples=80, deadline=None)
@given(parts_of_a_score())
def test_agrees_with_the_explicit_map(case: tuple[Sizes, dict[str, torch.Tensor]]):
    of, parts = case
    values = random_values(of)
    assert_same_values_and_gradients(
        map_attention(values, **parts), explicit(values, **parts), [values, *parts.values()]
    )


@pytest.mark.parametrize("own_values", [False, True])
def test_agrees_in_half_precision_to_its_rounding(own_values):
    torch.manual_seed(0)
    query, key, values = (torch.randn(2, 3, 4, 7, 8) for _ in range(3))
    values = values if own_values else values[:, 0]
    rows, columns, dense = torch.randn(2, 3, 4, 7, 4), torch.randn(2, 3, 4, 7, 7), torch.randn(3, 4, 7, 4, 7)
    expected = apply_attention(attention_weights(query, key, rows, columns, dense), values)
    halves = (part.bfloat16() for part in (values, query, key, rows, columns))
    fast = map_attention(*halves, dense=dense)
    assert fast.dtype == torch.bfloat16
    torch.testing.assert_close(fast.float(), expected, rtol=0, atol=0.06)


def test_dropout_keeps_the_mean_and_differs_between_images():
    torch.manual_seed(0)
    query, key = torch.randn(1, 2, 3, 4, 5), torch.randn(1, 2, 3, 4, 5)
    values = torch.randn(1, 3, 4, 6)
    expected = map_attention(values, query, key)[0]
    many = (4000, -1, -1, -1)
    drawn = map_attention(values.expand(many), query.expand(*many, -1), key.expand(*many, -1), dropout=0.3)
    torch.testing.assert_close(drawn.mean(0), expected, rtol=0, atol=0.05)
    assert not torch.allclose(drawn[0], drawn[1], atol=1e-3)


def test_a_score_without_pairs_is_refused():
    with pytest.raises(ValueError, match="needs a row and a column score"):
        map_attention(torch.zeros(1, 2, 3, 4), dense=torch.zeros(5, 2, 3, 2, 3))
