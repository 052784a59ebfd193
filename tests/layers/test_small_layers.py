"""The layers around attention, each against its formula."""

import math

import pytest
import torch

from headgrid.layers import FeedForward, HeadMixing, MeanPoolClassifier


def test_head_mixing_is_the_sum_over_heads_of_equation_11():
    torch.manual_seed(0)
    mixing = HeadMixing(num_heads=3, head_dim=4, dim=5).double()
    heads = torch.randn(2, 3, 6, 3, 4, dtype=torch.float64)
    expected = mixing.bias + sum(heads[..., head, :] @ mixing.head_matrices[head] for head in range(3))
    torch.testing.assert_close(mixing(heads), expected)
    assert mixing.head_matrices.shape == (3, 4, 5)


def test_mean_pool_classifier():
    classifier = MeanPoolClassifier(3, 4)
    pixels = torch.randn(2, 5, 6, 3)
    mean = sum(pixels[:, row, column] for row in range(5) for column in range(6)) / 30
    torch.testing.assert_close(classifier(pixels), mean @ classifier.linear.weight.T + classifier.linear.bias)


@pytest.mark.parametrize("activation", ["gelu", "relu", "silu"])
def test_feed_forward_acts_on_each_pixel_by_itself(activation):
    formulas = {
        "gelu": lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
        "relu": lambda x: max(x, 0.0),
        "silu": lambda x: x / (1 + math.exp(-x)),
    }
    layer = FeedForward(3, 4, activation).double()
    pixels = torch.randn(1, 2, 3, 3, dtype=torch.float64)
    hidden = (pixels @ layer.widen.weight.T + layer.widen.bias).detach().apply_(formulas[activation])
    torch.testing.assert_close(layer(pixels), hidden @ layer.narrow.weight.T + layer.narrow.bias)
    torch.testing.assert_close(layer(pixels)[0, 1, 2], layer(pixels[0, 1, 2]))
