"""The slow twin itself, against a loop over every image, head, query and key."""

import math
from itertools import product

import pytest
import torch

from headgrid.ops import apply_attention, attention_weights, grid_softmax

BATCH, HEADS, HEIGHT, WIDTH, ROWS, COLUMNS, DIM = 2, 3, 2, 3, 4, 2, 5


def _loop(query, key, rows, columns, dense):
    weights = torch.empty(BATCH, HEADS, HEIGHT, WIDTH, ROWS, COLUMNS, dtype=torch.float64)
    for b, n, h, w in product(range(BATCH), range(HEADS), range(HEIGHT), range(WIDTH)):
        scores = {
            (y, x): sum(float(query[b, n, h, w, d] * key[b, n, y, x, d]) for d in range(DIM))
            + float(rows[b, n, h, w, y] + columns[b, n, h, w, x] + dense[n, h, w, y, x])
            for y, x in product(range(ROWS), range(COLUMNS))
        }
        total = sum(math.exp(score) for score in scores.values())
        for (y, x), score in scores.items():
            weights[b, n, h, w, y, x] = math.exp(score) / total
    return weights


def _random(*size):
    return torch.randn(size, dtype=torch.float64)


def test_all_parts_together():
    torch.manual_seed(0)
    query, key = _random(BATCH, HEADS, HEIGHT, WIDTH, DIM), _random(BATCH, HEADS, ROWS, COLUMNS, DIM)
    rows, columns = _random(BATCH, HEADS, HEIGHT, WIDTH, ROWS), _random(BATCH, HEADS, HEIGHT, WIDTH, COLUMNS)
    dense = _random(HEADS, HEIGHT, WIDTH, ROWS, COLUMNS)
    weights = attention_weights(query, key, rows, columns, dense)
    expected = _loop(query, key, rows, columns, dense)
    torch.testing.assert_close(weights, expected, rtol=0, atol=1e-14)

    shared, own = _random(BATCH, ROWS, COLUMNS, 6), _random(BATCH, HEADS, ROWS, COLUMNS, 6)
    for b, n, h, w in product(range(BATCH), range(HEADS), range(HEIGHT), range(WIDTH)):
        keys = list(product(range(ROWS), range(COLUMNS)))
        of_shared = sum(expected[b, n, h, w, y, x] * shared[b, y, x] for y, x in keys)
        of_own = sum(expected[b, n, h, w, y, x] * own[b, n, y, x] for y, x in keys)
        torch.testing.assert_close(apply_attention(weights, shared)[b, h, w, n], of_shared)
        torch.testing.assert_close(apply_attention(weights, own)[b, h, w, n], of_own)


def test_parts_that_do_not_vary_stand_for_zero_or_for_all():
    torch.manual_seed(0)
    rows, columns = _random(1, HEADS, HEIGHT, 1, ROWS), _random(1, HEADS, 1, WIDTH, COLUMNS)
    weights = attention_weights(rows=rows, columns=columns)
    assert weights.shape == (1, HEADS, HEIGHT, WIDTH, ROWS, COLUMNS)
    nothing = torch.zeros(BATCH, HEADS, HEIGHT, WIDTH, DIM, dtype=torch.float64)
    no_key = torch.zeros(BATCH, HEADS, ROWS, COLUMNS, DIM, dtype=torch.float64)
    dense = torch.zeros(HEADS, HEIGHT, WIDTH, ROWS, COLUMNS, dtype=torch.float64)
    full = (BATCH, HEADS, HEIGHT, WIDTH, -1)
    expected = _loop(nothing, no_key, rows.expand(full), columns.expand(full), dense)
    torch.testing.assert_close(weights.expand(BATCH, -1, -1, -1, -1, -1), expected)


def test_softmax_is_taken_over_both_key_axes_at_once():
    scores = torch.randn(2, 3, 4, 5, dtype=torch.float64)
    expected = scores.exp() / scores.exp().sum((-2, -1), keepdim=True)
    torch.testing.assert_close(grid_softmax(scores), expected)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_weights_sum_to_one_in_half_precision(dtype):
    weights = grid_softmax(torch.randn(3, 4, 16, 20).to(dtype))
    assert weights.dtype == torch.float32
    torch.testing.assert_close(weights.sum((-2, -1)), torch.ones(3, 4))


def test_attention_without_any_score_is_refused():
    with pytest.raises(ValueError, match="attention needs at least one score"):
        attention_weights()
