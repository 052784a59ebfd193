"""The attention-only classifier: its sizes in the papers, its records, other image sizes, and what it refuses."""

from dataclasses import replace

import pytest
import torch

from headgrid.attention import DropoutPerImage, MultiheadAttentionConfig, ProjectedValues
from headgrid.encodings import SinusoidalRelativeConfig
from headgrid.models import FullyAttentionalConfig, enlarge_tables
from headgrid.scores import (
    AbsoluteContentConfig,
    ContentConfig,
    GeneralizedQuadraticConfig,
    LearnedPositionConfig,
    QuadraticConfig,
    QueryPositionConfig,
    TransformerXLConfig,
)
from headgrid.stacks import ReportBlockConfig

QUADRATIC, GENERALIZED = (QuadraticConfig(),), (GeneralizedQuadraticConfig(),)
LEARNED, LEARNED_WITH_BIAS = (LearnedPositionConfig(),), (LearnedPositionConfig(bias=True),)
QUERY, CONTENT = (QueryPositionConfig(),), (QueryPositionConfig(), ContentConfig())


def _paper(scores, num_heads=9, dim=400, hidden_dim=512, **options):
    attention = MultiheadAttentionConfig(num_heads=num_heads, scores=scores, dropout=DropoutPerImage())
    config = FullyAttentionalConfig(dim=dim, attention=attention, **options)
    return replace(config, block=replace(config.block, hidden_dim=hidden_dim))


def _report(scores, num_heads=9, dim=400, hidden_dim=512, **values):
    config = _paper(scores, num_heads, dim)
    attention = replace(config.attention, query_key_bias=False, **values)
    return replace(config, attention=attention, block=ReportBlockConfig(hidden_dim=hidden_dim))


SIXTEEN = {"num_heads": 16, "dim": 256, "hidden_dim": 400}
PROJECTED = {"values": ProjectedValues()}


@pytest.mark.parametrize(
    ("config", "num_parameters"),
    [
        (_paper(QUADRATIC), 12_086_844),
        (_paper(GENERALIZED), 12_087_006),
        (_paper(GENERALIZED, heads_per_layer=(7, 5, 8, 7, 3, 9)), 9_686_916),
        (_paper(LEARNED), 12_278_682),
        (_paper(QUERY), 20_822_682),
        (_paper(CONTENT), 29_484_282),
        (_paper(QUADRATIC, num_heads=16), 18_806_970),
        (_paper(QUADRATIC, **SIXTEEN), 7_932_810),
        (_paper(LEARNED, **SIXTEEN), 8_076_906),
        (_paper(CONTENT, **SIXTEEN), 20_612_202),
        (_report(QUADRATIC), 11_124_444),
        (_report(GENERALIZED), 11_124_606),
        (_report(LEARNED_WITH_BIAS), 11_316_390),
        (_report(CONTENT), 28_478_682),
        (_report(QUADRATIC, **SIXTEEN), 7_538_058),
        (_report(LEARNED_WITH_BIAS, **SIXTEEN, **PROJECTED), 13_973_802),
        (_report(CONTENT, **SIXTEEN, **PROJECTED), 26_459_754),
    ],
    ids=lambda value: f"{value:_}" if isinstance(value, int) else "",
)
def test_parameters_of_the_published_rows(config, num_parameters):
    with torch.device("meta"):
        model = config.build()
    assert sum(parameter.numel() for parameter in model.parameters()) == num_parameters


def _small(scores=QUADRATIC, **options):
    torch.manual_seed(0)
    attention = MultiheadAttentionConfig(num_heads=2, scores=scores, dropout=DropoutPerImage())
    defaults = {"dim": 8, "num_layers": 2, "image_size": (8, 12)}
    return FullyAttentionalConfig(attention=attention, **(defaults | options)).build().eval()


def test_a_model_is_embedding_blocks_mean_and_linear():
    model = _small()
    images = torch.randn(2, 3, 8, 12)
    cells = images.unflatten(2, (4, 2)).unflatten(4, (6, 2)).permute(0, 2, 4, 3, 5, 1).flatten(3)
    pixels = cells @ model.embedding.weight.T + model.embedding.bias
    for block in model.stack.blocks:
        pixels, _ = block(pixels)
    expected = pixels.mean((1, 2)) @ model.classifier.linear.weight.T + model.classifier.linear.bias
    torch.testing.assert_close(model(images), expected)


def test_a_record_has_the_attention_of_every_layer_by_name():
    model = _small(heads_per_layer=(3, 1))
    logits, attention = model(torch.randn(2, 3, 8, 12), record=True)
    assert logits.shape == (2, 10)
    assert list(attention) == ["stack.blocks.0.attention", "stack.blocks.1.attention"]
    assert [tuple(output.weights.shape) for output in attention.values()] == [
        (2, 3, 4, 6, 4, 6),
        (2, 1, 4, 6, 4, 6),
    ]
    for name, output in attention.items():
        layer = model.get_submodule(name)
        torch.testing.assert_close(output.weights[0], layer.weights(4, 6))


TABLES = {
    "learned": LEARNED,
    "query-position": QUERY,
    "query-position + content": CONTENT,
    "equation 8": (TransformerXLConfig(),),
    "absolute": (AbsoluteContentConfig(),),
}


@pytest.mark.parametrize("scores", TABLES)
def test_larger_images_need_larger_tables(scores):
    model = _small(TABLES[scores])
    larger = torch.randn(1, 3, 20, 14)
    with pytest.raises(ValueError, match=r"was built for .* and the map has .*enlarge_tables\(model, image_size\)"):
        model(larger)
    assert enlarge_tables(model, (20, 14)) is model
    assert model.config.image_size == (20, 14)
    assert model(larger).isfinite().all()
    rebuilt = model.config.build().eval()
    rebuilt.load_state_dict(model.state_dict())
    torch.testing.assert_close(rebuilt(larger), model(larger))
    model(larger).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_enlarged_tables_see_the_same_image_at_twice_the_resolution_alike():
    """With scores that are straight lines, weights spread over twice as many pixels and keep their direction."""
    model = _small(LEARNED, num_layers=1, pixel_concatenation=1)
    attention = model.stack.blocks[0].attention
    encoding = attention.score.terms[0].encoding
    with torch.no_grad():
        encoding.row_table.copy_(torch.linspace(-1, 1, 15)[:, None].expand(-1, 8))
        encoding.column_table.copy_(torch.linspace(2, -2, 23)[:, None].expand(-1, 8))
    before = attention.weights(8, 12)
    enlarge_tables(model, (15, 23))  # every second pixel of the larger map is a pixel of the smaller one
    after = attention.weights(15, 23)[:, ::2, ::2, ::2, ::2]
    torch.testing.assert_close(after / after.sum((-2, -1), keepdim=True), before)


@pytest.mark.parametrize("scores", [QUADRATIC, GENERALIZED, (TransformerXLConfig(SinusoidalRelativeConfig()),)])
@pytest.mark.parametrize("size", [(2, 2), (6, 30), (40, 4)])
def test_models_without_tables_take_images_of_any_size(scores, size):
    assert _small(scores)(torch.randn(1, 3, *size)).shape == (1, 10)


@pytest.mark.parametrize("scores", [LEARNED, CONTENT, (AbsoluteContentConfig(),)])
def test_models_with_tables_take_smaller_images(scores):
    assert _small(scores)(torch.randn(1, 3, 6, 8)).shape == (1, 10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"image_size": (8, 9)}, "image_size 8 x 9 must be a positive multiple of pixel_concatenation 2"),
        ({"image_size": (0, 8)}, "image_size 0 x 8 must be a positive multiple"),
        ({"dim": 0}, "dim must be at least 1, got 0"),
        ({"num_layers": -1}, "num_layers must be at least 1, got -1"),
        ({"pixel_concatenation": 0}, "pixel_concatenation must be at least 1, got 0"),
        ({"num_channels": 0}, "num_channels must be at least 1, got 0"),
        ({"num_classes": 0}, "num_classes must be at least 1, got 0"),
        ({"heads_per_layer": (9, 9)}, "heads_per_layer names 2 layers and the model has 6"),
        ({"heads_per_layer": ()}, "heads_per_layer names 0 layers and the model has 6"),
        ({"heads_per_layer": (9, 9, -1, 9, 9, 9)}, "a layer has 0 heads or more"),
    ],
)
def test_models_that_cannot_be_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        FullyAttentionalConfig(**options).build()


def test_images_that_do_not_fit_are_refused():
    model = _small()
    with pytest.raises(ValueError, match="built for images of 3 channels, got 1: build it with num_channels=1, or"):
        model(torch.randn(1, 1, 8, 12))
    with pytest.raises(ValueError, match="images of 8 x 11 pixels cannot be cut into cells of 2 x 2"):
        model(torch.randn(1, 3, 8, 11))


def test_tables_are_enlarged_and_never_shrunk():
    model = _small(LEARNED)
    with pytest.raises(ValueError, match="built for images of 8 x 12, and 16 x 10 is smaller on one side"):
        enlarge_tables(model, (16, 10))
    with pytest.raises(ValueError, match="image_size 9 x 12 must be a positive multiple"):
        enlarge_tables(model, (9, 12))
    assert model.stack.blocks[0].attention.score.terms[0].encoding.grid == (4, 6)
