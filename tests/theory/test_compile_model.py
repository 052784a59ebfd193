"""Whole models: what is compiled, what stays attention and why, and that the outputs stay."""

import pytest
import torch
from torch import nn

from headgrid.attention import (
    DropoutPerImage,
    GatedPositionalAttentionConfig,
    MultiheadAttention,
    MultiheadAttentionConfig,
)
from headgrid.models import FullyAttentionalConfig
from headgrid.scores import ContentConfig, GridCenters, LearnedPositionConfig, QuadraticConfig
from headgrid.theory import CompiledAttention, compile_model, convert_convolution

LOCAL = QuadraticConfig(GridCenters(2.0))


def _model(scores=(LOCAL,), num_layers=3, **options):
    torch.manual_seed(0)
    attention = MultiheadAttentionConfig(num_heads=9, scores=scores, dropout=DropoutPerImage(0.1))
    return FullyAttentionalConfig(
        dim=16, num_layers=num_layers, attention=attention, image_size=(24, 28), **options
    ).build()


@pytest.fixture
def images():
    torch.manual_seed(1)
    return torch.randn(3, 3, 24, 28)


def test_compiles_the_local_layers_and_keeps_the_wide_one(images):
    model = _model().double()
    images = images.double()
    with torch.no_grad():
        model.stack.blocks[1].attention.score.terms[0].spreads[4] = 0.1
    compiled = compile_model(model, 1e-3, images, accuracy=lambda network: float(network.training))
    report = compiled.report
    assert [layer.names for layer in report.layers] == [
        ("stack.blocks.0.attention",),
        ("stack.blocks.2.attention",),
    ]
    assert [layer.names for layer in report.kept] == [("stack.blocks.1.attention",)]
    assert "exceeds half the 12 x 14 grid" in report.kept[0].reason
    assert report.kept[0].heads is None
    blocks = compiled.model.stack.blocks
    assert [type(block.attention) for block in blocks] == [CompiledAttention, MultiheadAttention, CompiledAttention]
    assert all(isinstance(block.attention, MultiheadAttention) for block in model.stack.blocks)
    assert model.training

    for layer in report.layers:
        assert 0 < layer.error <= layer.bound
        assert str(layer.certificate.footprint) == "5 x 5"
        assert layer.num_border_pixels == 12 * 14 - 8 * 10
        assert layer.interior.macs == 8 * 10 * 25 * 16 * 16
        assert layer.attention.macs > layer.border.macs > 88 * 9 * 16 * 16
        assert min(layer.attention.seconds, layer.interior.seconds, layer.border.seconds) > 0
    expected, output = model.eval()(images), compiled.model.eval()(images)
    assert report.model.error == pytest.approx(float((output - expected).detach().abs().max()), rel=1e-6)
    assert 0 < report.model.error < 1e-2 * report.model.scale
    assert (report.model.accuracy_before, report.model.accuracy_after) == (0.0, 0.0)  # measured in eval mode
    assert len(report.table().rows) == 3
    assert "2 attention layers are convolutions now, 1 are not" in report.sentences()[0]


def test_recorded_maps_of_a_compiled_model(images):
    model = _model().eval()
    compiled = compile_model(model, 1e-2, images).model
    logits, attention = compiled(images, record=True)
    torch.testing.assert_close(logits, compiled(images), rtol=0, atol=1e-5)
    assert set(attention) == {f"stack.blocks.{layer}.attention" for layer in range(3)}
    first = attention["stack.blocks.0.attention"].weights
    assert first.shape == (3, 9, 12, 14, 12, 14)
    assert first[0, 0, 6, 7, 0, 0] == 0


def test_content_layers_stay_and_are_described(images):
    model = _model((LOCAL, ContentConfig()), num_layers=2)
    report = compile_model(model, 1e-2, images).report
    assert report.layers == ()
    assert report.model.error == 0
    for layer in report.kept:
        assert "depends on the image" in layer.reason
        assert layer.heads.peak_mass.shape == (9,)
        assert (layer.heads.content_dependence > 0).all()
    assert any("on their best shift" in sentence for sentence in report.sentences())
    assert compile_model(model, 1e-2, images[:1]).report.kept[0].heads is None


def test_learned_positions_compile_when_they_are_local(images):
    model = _model((LearnedPositionConfig(size_per_axis=2),), num_layers=1)
    score = model.stack.blocks[0].attention.score.terms[0]
    with torch.no_grad():
        for table in (score.encoding.row_table, score.encoding.column_table):
            table.copy_(-3 * (torch.arange(len(table)) - len(table) // 2).abs()[:, None].expand_as(table))
        score.row_vectors.weight.uniform_(0.5, 1)
        score.column_vectors.weight.uniform_(0.5, 1)
    report = compile_model(model, 1e-2, images).report
    assert len(report.layers) == 1
    assert report.layers[0].error <= report.layers[0].bound + 1e-6


class Shared(nn.Module):
    """One attention on maps of two sizes, one inside of a converted convolution, one that nothing reaches."""

    def __init__(self):
        super().__init__()
        config = MultiheadAttentionConfig(num_heads=9, scores=(LOCAL,))
        self.attention = config.build(3, (24, 28))
        self.gated = GatedPositionalAttentionConfig(num_heads=4).build(3, (24, 28))
        self.converted = convert_convolution(nn.Conv2d(3, 3, 3, padding=1))
        self.idle = config.build(3, (24, 28))

    def forward(self, images):
        pixels = self.converted(images).permute(0, 2, 3, 1)
        pixels = self.attention(pixels).values
        pixels = self.gated(pixels[:, ::2, ::2]).values
        return self.attention(pixels=pixels).values.mean(dim=(1, 2))


def test_shared_gated_converted_and_idle_layers(images):
    torch.manual_seed(0)
    model = Shared()
    compiled = compile_model(model, 1e-2, images)
    report = compiled.report
    assert [layer.names for layer in report.layers] == [("attention",)]
    assert report.layers[0].certificate.grid == (24, 28)
    reasons = {layer.names[0]: layer.reason for layer in report.kept}
    assert reasons == {
        "gated": "its attention depends on the image, not on the shift alone",
        "idle": "the images do not reach it",
    }
    assert isinstance(compiled.model.attention, CompiledAttention)
    torch.testing.assert_close(compiled.model(images), model(images), rtol=0, atol=1e-2)


def test_a_model_without_attention_is_refused(images):
    with pytest.raises(ValueError, match="no multi-head attention layer"):
        compile_model(nn.Conv2d(3, 3, 3), 1e-2, images)
