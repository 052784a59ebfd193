"""Gaussians with the moments of any head's attention, and the curves around them."""

import math

import pytest
import torch
from made_records import gaussian_maps, layer_of, one_shift, random_layer, record_of

from headgrid.analysis import contour, fitted_centers, head_centers, measure_attention, measure_records
from headgrid.analysis.attention_record import LayerAttention, Placement
from headgrid.analysis.fitted_centers import LEAST_VARIANCE
from headgrid.attention import MultiheadAttentionConfig
from headgrid.models import FullyAttentionalConfig
from headgrid.scores import GeneralizedQuadraticConfig


def measured(layer):
    return measure_records([record_of(layer)])


def test_mean_and_covariance_are_those_that_were_measured():
    measures = measured(random_layer(num_heads=3))
    fitted = fitted_centers(measures)["layer"]
    for head in measures.heads:
        assert fitted.centers[head.head].tolist() == pytest.approx(head.mean_shift)
        (a, b), (_, d) = head.covariance
        inverse = [[d, -b], [-b, a]]
        expected = [[entry / (a * d - b * b) for entry in row] for row in inverse]
        for row, expected_row in zip(fitted.inverse_covariances[head.head].tolist(), expected, strict=True):
            assert row == pytest.approx(expected_row)


def test_curves_hold_the_share_of_the_attention_that_they_say():
    """Of a wide Gaussian head, seen from one query in the middle of a large map."""
    maps = gaussian_maps([(1.0, -2.0)], [0.04], 36, 40)[:, 18:19, 20:21]
    middle = Placement((36, 40), query_rows=(18,), query_columns=(20,), pixel_size=(1.0, 1.0))
    fitted = fitted_centers(measured(LayerAttention("layer", maps[None], middle)))["layer"]
    center, precision = fitted.centers[0], fitted.inverse_covariances[0]
    torch.testing.assert_close(center, torch.tensor([1.0, -2.0], dtype=torch.float64), atol=0.01, rtol=0)
    torch.testing.assert_close(precision, 0.08 * torch.eye(2, dtype=torch.float64), atol=2e-3, rtol=0)
    offsets = middle.shifts()[0, 0] - center
    distances = torch.einsum("hwi,ij,hwj->hw", offsets, precision, offsets)
    for share in (0.5, 0.9):
        points = contour(center, precision, share) - center
        on_curve = torch.einsum("ki,ij,kj->k", points, precision, points)
        assert float(maps[0, 0, 0][distances <= on_curve[0]].sum()) == pytest.approx(share, abs=0.03)
        radius = math.sqrt(-2 * math.log(1 - share)) * math.sqrt(1 / 0.08)
        torch.testing.assert_close(points.norm(dim=-1), torch.full((64,), radius).double(), rtol=0.02, atol=0)


def test_a_head_with_a_single_shift_has_a_curve_that_can_be_seen():
    fitted = fitted_centers(measured(layer_of(one_shift(6, 7, (0, 0))[None, None])))["layer"]
    assert fitted.centers.tolist() == [[0.0, 0.0]]
    points = contour(fitted.centers[0], fitted.inverse_covariances[0], 0.5)
    radius = math.sqrt(2 * math.log(2) * LEAST_VARIANCE)
    torch.testing.assert_close(points.norm(dim=-1), torch.full((64,), radius).double())


def test_a_quadratic_model_has_both_fitted_and_exact_centers():
    """Wide heads near the query, on a map large enough, of a model with random centres."""
    torch.manual_seed(0)
    attention = MultiheadAttentionConfig(num_heads=2, scores=(GeneralizedQuadraticConfig(),))
    model = FullyAttentionalConfig(dim=8, num_layers=1, attention=attention, image_size=(32, 36)).build()
    with torch.no_grad():
        for layer in head_centers(model):
            model.get_submodule(layer).score.terms[0].centers.copy_(torch.tensor([[0.0, 1.0], [-1.0, 0.0]]))
    measures = measure_attention(model, [torch.randn(1, 3, 32, 36)])
    exact, fitted = head_centers(model), fitted_centers(measures)
    assert list(fitted) == list(exact) == ["stack.blocks.0.attention"]
    for head in measures.heads:
        heads = exact[head.layer]
        assert head.exact_center == pytest.approx(tuple(heads.centers[head.head].tolist()))
        assert head.exact_inverse_covariance is not None
        for row, expected in zip(head.exact_inverse_covariance, heads.inverse_covariances[head.head], strict=True):
            assert row == pytest.approx(tuple(expected.tolist()))
        # Borders pull the fitted one towards zero, and little here.
        assert head.mean_shift == pytest.approx(head.exact_center, abs=0.15)
        assert head.content_variance is None
