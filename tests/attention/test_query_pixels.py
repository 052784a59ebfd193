"""An attention layer asked for some query pixels gives what it gives there when asked for all."""

import pytest
import torch

from headgrid.attention import (
    DropoutPerImage,
    FullHeads,
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
    TransformerXLConfig,
)

SCORES = {
    "quadratic": (QuadraticConfig(),),
    "generalized": (GeneralizedQuadraticConfig(),),
    "learned": (LearnedPositionConfig(),),
    "query-position": (QueryPositionConfig(),),
    "content and row terms": (ContentConfig(), QuadraticConfig()),
    "content and dense": (ContentConfig(), GeneralizedQuadraticConfig()),
    "equation 8": (TransformerXLConfig(),),
}
VALUES = {
    "merged": (MergedValues(), FullHeads()),
    "grouped": (GroupedValues(2), FullHeads()),
    "projected": (ProjectedValues(bias=True), HeadsOfWidth(6)),
}
QUERIES = (slice(1, 7, 2), slice(0, 4, 3))


def _layer(scores, values=VALUES["merged"][0], heads=VALUES["merged"][1]):
    config = MultiheadAttentionConfig(
        num_heads=4, scores=scores, values=values, heads=heads, dropout=DropoutPerImage(0.0)
    )
    return config.build(8, (7, 5), output_dim=6)


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("scores", SCORES)
def test_some_queries_are_a_selection_of_all(scores, values):
    torch.manual_seed(0)
    layer = _layer(SCORES[scores], *VALUES[values]).double()
    pixels = torch.randn(2, 7, 5, 8, dtype=torch.float64)
    everywhere = layer(pixels, record=True)
    for record in (False, True):
        there = layer(pixels, record=record, queries=QUERIES)
        torch.testing.assert_close(there.values, everywhere.values[:, QUERIES[0], QUERIES[1]], rtol=0, atol=1e-14)
        if record:
            torch.testing.assert_close(there.weights, everywhere.weights[:, :, QUERIES[0], QUERIES[1]])


def test_queries_by_index():
    torch.manual_seed(0)
    layer = _layer(SCORES["content and dense"])
    pixels = torch.randn(2, 7, 5, 8)
    rows, columns = torch.tensor([0, 1, 6]), torch.tensor([4, 0])
    expected = layer(pixels).values[:, rows][:, :, columns]
    torch.testing.assert_close(layer(pixels, queries=(rows, columns)).values, expected)


def test_maps_of_some_queries():
    layer = _layer(SCORES["generalized"])
    torch.testing.assert_close(layer.weights(7, 5, QUERIES), layer.weights(7, 5)[:, QUERIES[0], QUERIES[1]])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("scores", SCORES)
def test_half_precision_keeps_its_dtype_and_has_gradients(scores, dtype):
    torch.manual_seed(0)
    layer = _layer(SCORES[scores]).to(dtype)
    pixels = torch.randn(2, 7, 5, 8).to(dtype)
    output = layer(pixels).values
    assert output.dtype == dtype
    torch.testing.assert_close(output, layer(pixels, record=True).values, rtol=0, atol=2e-2)
    output.sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in layer.parameters())


def test_distant_pixels_do_not_overflow_in_half_precision():
    """300 rows away the squared distance passes the largest float16; the gradient of the spread stays finite."""
    layer = MultiheadAttentionConfig(num_heads=1, dropout=DropoutPerImage(0.0)).build(2, (300, 1)).half()
    output = layer(torch.randn(1, 300, 1, 2).half()).values
    output.sum().backward()
    assert output.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in layer.parameters())


def test_narrow_heads_need_projected_values():
    with pytest.raises(ValueError, match="heads of 3 channels on pixels of 8 need projected values"):
        _layer(SCORES["quadratic"], MergedValues(), HeadsOfWidth(3))
    with pytest.raises(ValueError, match="at least one channel, got width = 0"):
        _layer(SCORES["quadratic"], ProjectedValues(), HeadsOfWidth(0))
