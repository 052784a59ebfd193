import pytest
import torch
import torch.nn.functional as F
from torch import nn

from headgrid.layers import NormalizedLinear, NormReLU


@pytest.mark.parametrize("training", [True, False])
def test_norm_relu_is_batch_norm_and_relu_with_channels_last(training):
    torch.manual_seed(0)
    ours, theirs = NormReLU(5).double().train(training), nn.BatchNorm2d(5).double().train(training)
    pixels = torch.randn(2, 3, 4, 5, dtype=torch.float64, requires_grad=True)
    output, expected = ours(pixels), F.relu(theirs(pixels.permute(0, 3, 1, 2))).permute(0, 2, 3, 1)
    torch.testing.assert_close(output, expected)
    gradients = [torch.autograd.grad(result.square().sum(), pixels) for result in (output, expected)]
    torch.testing.assert_close(*gradients)
    torch.testing.assert_close(ours.state_dict(), theirs.state_dict())


@pytest.mark.parametrize("momentum", [0.1, 0.3, None])
def test_both_paths_of_a_normalized_linear_track_the_same_statistics(momentum):
    layers = []
    for record in (False, True):
        torch.manual_seed(0)
        layer = NormalizedLinear(5, 3, bias=True)
        layer.norm.momentum = momentum
        for _ in range(3):
            layer(torch.randn(7, 4, 5) * 2 + 1, record)
        layers.append(layer.eval())
    torch.testing.assert_close(layers[0].state_dict(), layers[1].state_dict())
    rows = torch.randn(6, 5)
    torch.testing.assert_close(layers[0](rows), layers[0](rows, record=True))


def test_a_norm_that_is_frozen_stays_as_it_is():
    layer = NormalizedLinear(5, 3, bias=False)
    layer.norm.eval()
    before = {name: tensor.clone() for name, tensor in layer.state_dict().items()}
    rows = torch.randn(6, 5)
    torch.testing.assert_close(layer(rows), layer(rows, record=True))
    torch.testing.assert_close(layer.state_dict(), before)
