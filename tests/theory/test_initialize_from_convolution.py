"""Layers that start as a convolution, of every kind that can."""

import pytest
import torch
from torch import nn

from headgrid.attention import (
    DropoutPerImage,
    FullHeads,
    GatedPositionalAttentionConfig,
    GroupedValues,
    HeadsOfWidth,
    MergedValues,
    MultiheadAttentionConfig,
    ProjectedValues,
)
from headgrid.scores import (
    ContentConfig,
    GeneralizedQuadraticConfig,
    LearnedPositionConfig,
    QuadraticConfig,
    QueryPositionConfig,
)
from headgrid.theory import ConvolutionalInitialization, initialize_from_convolution, low_rank_convolution

SCORES = {
    "quadratic": (QuadraticConfig(),),
    "generalized": (GeneralizedQuadraticConfig(),),
    "with content": (ContentConfig(), QuadraticConfig()),
}


def _layer(scores=SCORES["quadratic"], values=None, heads=None, num_heads=6, output_dim=8):
    torch.manual_seed(0)
    config = MultiheadAttentionConfig(
        num_heads=num_heads,
        scores=scores,
        values=values or MergedValues(),
        heads=heads or FullHeads(),
        dropout=DropoutPerImage(0.0),
    )
    return config.build(4, (9, 10), output_dim).double()


def _same_in_the_interior(layer, conv, tolerance=1e-12):
    pixels = torch.randn(2, 9, 10, 4, dtype=torch.float64)
    expected = conv(pixels.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
    output = layer(pixels).values
    first = [step * ((size - 1) // 2) for size, step in zip(conv.kernel_size, conv.dilation, strict=True)]
    height, width = expected.shape[1:3]
    inside = output[:, first[0] : first[0] + height, first[1] : first[1] + width]
    torch.testing.assert_close(inside, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("groups", [1, 2])
def test_starts_as_the_convolution(scores, groups):
    conv = nn.Conv2d(4, 8, (3, 2), dilation=(1, 2), groups=groups).double()
    for values, heads in (
        (MergedValues(), FullHeads()),
        (GroupedValues(groups), FullHeads()),
        (ProjectedValues(bias=True), HeadsOfWidth(4)),
    ):
        layer = _layer(SCORES[scores], values, heads)
        initialize_from_convolution(layer, conv)
        _same_in_the_interior(layer, conv)


def test_without_bias():
    conv = nn.Conv2d(4, 8, (2, 3), bias=False).double()
    layer = _layer()
    initialize_from_convolution(layer, conv)
    _same_in_the_interior(layer, conv)


def test_narrow_heads_get_the_nearest_matrices():
    conv = nn.Conv2d(4, 8, (3, 2)).double()
    layer = _layer(values=ProjectedValues(), heads=HeadsOfWidth(2))
    initialize_from_convolution(layer, conv)
    nearest = low_rank_convolution(conv, 2).module
    _same_in_the_interior(layer, nearest)


def test_content_can_grow_out_of_its_silence():
    layer = _layer(SCORES["with content"])
    initialize_from_convolution(layer, nn.Conv2d(4, 8, (3, 2)), sharpness=0.5)
    layer(torch.randn(2, 9, 10, 4, dtype=torch.float64)).values.square().sum().backward()
    assert layer.key.weight.abs().max() == 0
    assert layer.key.weight.grad.abs().max() > 0


@pytest.mark.parametrize("position", [QuadraticConfig(), GeneralizedQuadraticConfig()])
def test_a_gated_layer_is_the_convolution_when_its_gates_let_position_through(position):
    torch.manual_seed(0)
    conv = nn.Conv2d(4, 8, 3).double()
    layer = GatedPositionalAttentionConfig(position=position, gate=50.0).build(4, (9, 10), 8).double()
    initialize_from_convolution(layer, conv)
    _same_in_the_interior(layer, conv)
    with torch.no_grad():
        layer.gate.fill_(0.0)
    pixels = torch.randn(1, 9, 10, 4, dtype=torch.float64)
    (gradient,) = torch.autograd.grad(layer(pixels).values.square().sum(), layer.gate)
    assert gradient.abs().min() > 0


def test_a_soft_start_resembles_the_convolution():
    conv = nn.Conv2d(4, 8, (3, 2)).double()
    layer = _layer()
    pixels = torch.randn(2, 9, 10, 4, dtype=torch.float64)
    expected = conv(pixels.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
    errors = []
    for sharpness in (1.0, 2.0, 4.0, 8.0):
        initialize_from_convolution(layer, conv, sharpness)
        errors.append(float((layer(pixels).values[:, 1:-1, :-1] - expected).detach().square().mean()))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-4 * float(expected.detach().square().mean())


@pytest.mark.parametrize(
    ("layer", "conv", "message"),
    [
        (_layer(), nn.Conv2d(4, 8, 3), "the layer has 6 heads and the kernel 9 elements"),
        (_layer(), nn.Conv2d(4, 6, (3, 2)), "maps 4 channels to 8 and the convolution 4 to 6"),
        (_layer(), nn.Conv2d(4, 8, (3, 2), stride=2), r"the convolution has stride \(2, 2\)"),
        (_layer((LearnedPositionConfig(),)), nn.Conv2d(4, 8, (3, 2)), "one quadratic score.*LearnedPositionScore"),
        (
            _layer((QuadraticConfig(), QueryPositionConfig())),
            nn.Conv2d(4, 8, (3, 2)),
            "one quadratic score.*QueryPositionScore",
        ),
        (
            _layer(values=GroupedValues(2)),
            nn.Conv2d(4, 8, (3, 2)),
            "mixes 2 groups of channels and the convolution has 1",
        ),
        (_layer(), nn.ConvTranspose2d(4, 8, (3, 2)), "transposed"),
    ],
)
def test_what_does_not_fit_is_said(layer, conv, message):
    with pytest.raises(ValueError, match=message):
        initialize_from_convolution(layer, conv)


def test_a_whole_model_of_random_convolutions():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = MultiheadAttentionConfig().build(4, (6, 6))
            self.second = GatedPositionalAttentionConfig().build(4, (6, 6))

    torch.manual_seed(0)
    model = Two()
    ConvolutionalInitialization(sharpness=3.0).apply(model)
    torch.testing.assert_close(model.first.score.terms[0].sharpness, torch.full((9,), 3.0))
    assert sorted(map(tuple, model.second.position.terms[0].centers.tolist())) == [
        (row, column) for row in (-1, 0, 1) for column in (-1, 0, 1)
    ]
    assert model.first.mixing.weight.abs().max() <= 1 / (4 * 9) ** 0.5
    six = MultiheadAttentionConfig(num_heads=6).build(4, (6, 6))
    with pytest.raises(ValueError, match="their number must be a square, got 6"):
        ConvolutionalInitialization().apply(six)
