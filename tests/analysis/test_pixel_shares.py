"""Shares of pixels, of tokens, and of negative weights."""

import pytest
import torch
from made_records import random_layer

from headgrid.analysis.pixel_shares import negative_shares, pixel_shares, token_shares


def test_what_tokens_take_is_measured_apart_and_the_rest_sums_to_one():
    layer = random_layer(num_tokens=2)
    shares, tokens = pixel_shares(layer.weights), token_shares(layer)
    for image in range(3):
        for head in range(2):
            to_tokens = 0.0
            for h in range(3):
                for w in range(4):
                    matrix_row = layer.matrix()[image, head, 2 + 4 * h + w].tolist()
                    to_tokens += sum(matrix_row[:2]) / 12
                    for key, weight in enumerate(matrix_row[2:]):
                        expected = weight / sum(matrix_row[2:])
                        assert float(shares[image, head, h, w, key // 4, key % 4]) == pytest.approx(expected)
            assert float(tokens[image, head]) == pytest.approx(to_tokens)


def test_without_tokens_a_softmax_stays_as_it_is():
    layer = random_layer()
    torch.testing.assert_close(pixel_shares(layer.weights), layer.weights)
    assert not token_shares(layer).any()
    assert not negative_shares(layer.weights).any()


def test_weights_without_softmax():
    weights = torch.tensor([[1.0, -2.0, 5.0], [0.0, 0.0, 0.0]])[:, None]
    expected = torch.tensor([[1 / 8, 2 / 8, 5 / 8], [1 / 3] * 3], dtype=torch.float64)
    torch.testing.assert_close(pixel_shares(weights)[:, 0], expected)
    assert negative_shares(weights).tolist() == [0.25, 0.0]
