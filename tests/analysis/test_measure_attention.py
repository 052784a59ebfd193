"""All measures of a model together: each field is the measure of its name, streamed over batches."""

import math
import sys
from dataclasses import asdict, fields

import pytest
import torch
from made_records import in_loops, layer_of, num_queries, random_layer, record_of

from headgrid.analysis import Thresholds, measure_attention, measure_records
from headgrid.analysis.measure_tables import head_rows, layer_rows
from headgrid.attention import DropoutPerImage, MultiheadAttentionConfig
from headgrid.models import FullyAttentionalConfig
from headgrid.scores import ContentConfig, QuadraticConfig


def test_every_field_of_a_head_against_loops():
    """The sums, once more, written out: nothing is swapped between fields or heads."""
    layer = random_layer(num_images=3, num_heads=3, num_tokens=1)
    measures = measure_records([record_of(layer)])
    total = 3 * num_queries(layer)
    for head in measures.heads:
        sums, counts, pairs, entropy = {}, {}, {}, 0.0
        for _, query, shift, share in in_loops(layer, head.head):
            sums[shift] = sums.get(shift, 0.0) + share
            counts[shift] = counts.get(shift, 0) + 1
            pairs.setdefault((query, shift), []).append(share)
            entropy -= share * math.log(share)
        peak = max(sums, key=lambda shift: sums[shift])
        mean = [sum(share * shift[axis] for shift, share in sums.items()) / total for axis in (0, 1)]
        covariance = [
            [sum(s * (d[i] - mean[i]) * (d[j] - mean[j]) for d, s in sums.items()) / total for j in (0, 1)]
            for i in (0, 1)
        ]
        distance = sum(share * math.hypot(*shift) for shift, share in sums.items()) / total
        in_image = sum(share * math.hypot(2 * shift[0], 3 * shift[1]) for shift, share in sums.items()) / total
        everywhere = sum(count * math.hypot(*shift) for shift, count in counts.items()) / sum(counts.values())
        squares = sum(share**2 for shares in pairs.values() for share in shares)
        deviation = sum((share - sum(shares) / 3) ** 2 for shares in pairs.values() for share in shares)
        to_tokens = float(layer.tokens.from_pixels[:, head.head].mean())
        expected = {
            "layer": "layer",
            "num_images": 3,
            "peak_shift": peak,
            "peak_mass": sums[peak] / counts[peak],
            "mean_shift": tuple(mean),
            "covariance": tuple(map(tuple, covariance)),
            "exact_center": None,
            "exact_inverse_covariance": None,
            "spread": math.sqrt(covariance[0][0] + covariance[1][1]),
            "entropy": entropy / total,
            "mean_distance": distance,
            "mean_distance_in_image": in_image,
            "non_locality": distance / everywhere,
            "content_variance": deviation / squares,
            "token_share": to_tokens,
            "negative_share": 0.0,
        }
        found = asdict(head)
        assert found.keys() == expected.keys() | {"head", "translation_invariance"}
        for name, value in expected.items():
            if name == "covariance":
                assert sum(found[name], ()) == pytest.approx(sum(value, ()))
            else:
                assert found[name] == (value if isinstance(value, str | None) else pytest.approx(value)), name
        assert 0 < head.translation_invariance < 1
    assert [head.head for head in measures.heads] == [0, 1, 2]


def test_streamed_measures_are_those_of_all_images_at_once():
    torch.manual_seed(0)
    attention = MultiheadAttentionConfig(
        num_heads=4, scores=(QuadraticConfig(), ContentConfig()), dropout=DropoutPerImage()
    )
    model = FullyAttentionalConfig(dim=8, num_layers=2, attention=attention, image_size=(8, 12)).build()
    images = torch.randn(6, 3, 8, 12)
    seen = []
    streamed = measure_attention(model, images.split([1, 3, 2]), progress=seen.append)
    at_once = measure_attention(model, [(images, torch.zeros(6))])
    assert seen == [1, 3, 2]
    assert streamed.num_images == at_once.num_images == 6
    for row, expected in zip(head_rows(streamed), head_rows(at_once), strict=True):
        assert row.keys() == expected.keys()
        for name, value in row.items():
            exact = value is None or isinstance(value, str)
            assert value == (expected[name] if exact else pytest.approx(expected[name], abs=1e-6)), name
    assert [layer.sentence for layer in streamed.layers] == [layer.sentence for layer in at_once.layers]


def test_uniform_attention():
    """Looks everywhere, the same everywhere, at no image; all its heads are one."""
    weights = torch.full((2, 4, 3, 4, 3, 4), 1 / 12)
    (layer,) = measure_records([record_of(layer_of(weights, image_size=(6, 12)))]).layers
    for head in layer.heads:
        assert head.entropy == pytest.approx(math.log(12))
        assert head.non_locality == pytest.approx(1)
        assert head.translation_invariance == pytest.approx(1)
        assert head.content_variance == 0
        assert head.mean_shift == pytest.approx((0, 0))
    assert layer.covered_kernel_size == 0
    assert layer.convolution is None
    assert layer.redundant == ((0, 1, 2, 3),)


def test_thresholds_move_what_counts():
    weights = torch.full((1, 1, 3, 4, 3, 4), 0.3 / 11)
    for row in range(3):
        for column in range(4):
            weights[..., row, column, row, column] = 0.7
    record = record_of(layer_of(weights, image_size=(6, 12)))
    assert measure_records([record]).layers[0].covered_kernel_size == 0
    assert measure_records([record], thresholds=Thresholds(tolerance=0.3)).layers[0].covered_kernel_size == 1
    for wrong, words in (
        ({"tolerance": 1.0}, "tolerance is a share"),
        ({"similarity": 0.0}, "similarity is a cos"),
    ):
        with pytest.raises(ValueError, match=words):
            Thresholds(**wrong)


def test_a_layer_left_out_of_one_batch_is_left_out_of_all():
    both = record_of(random_layer(name="first"), random_layer(name="second"))
    one = record_of(random_layer(name="first"), left_out={"second": "it was too large"})
    measures = measure_records([both, one, both])
    assert [layer.layer for layer in measures.layers] == ["first"]
    assert (measures.num_images, measures.heads[0].num_images) == (9, 9)
    assert measures.left_out == {"second": "it was too large"}


def test_layers_too_large_to_measure(monkeypatch):
    monkeypatch.setattr(sys.modules["headgrid.analysis.measure_attention"], "MOST_WEIGHTS", 200)
    with pytest.raises(
        ValueError, match=r"no layer could be measured: layer: its map of one image has 288 weights"
    ):
        measure_records([record_of(random_layer())])


def test_no_images_and_images_of_two_sizes():
    with pytest.raises(ValueError, match="no images to measure on"):
        measure_records([])
    small = record_of(random_layer(), image_size=(4, 4))
    with pytest.raises(ValueError, match="images of one size can be measured together"):
        measure_records([record_of(random_layer()), small])


def test_rows_of_the_tables_hold_everything_as_single_cells():
    layers = (random_layer(num_heads=5, name="first"), random_layer(num_heads=1, num_tokens=2, name="second"))
    measures = measure_records([record_of(*layers)])
    rows = head_rows(measures)
    assert len(rows) == 6
    for row, head in zip(rows, measures.heads, strict=True):
        assert (row["peak_shift_row"], row["peak_shift_column"]) == head.peak_shift
        assert (row["mean_shift_row"], row["mean_shift_column"]) == head.mean_shift
        names = ("row_row", "row_column", "column_row", "column_column")
        assert tuple(row[f"covariance_{name}"] for name in names) == sum(head.covariance, ())
        assert row["exact_center_row"] is None
        plain = {field.name for field in fields(head)} & row.keys()
        assert all(row[name] == getattr(head, name) for name in plain)
        assert len(row) == len(fields(head)) + 3 * 1 + 2 * 3  # three pairs and two matrices come apart
        assert all(isinstance(cell, str | int | float | None) for cell in row.values())
    assert {row["layer"] for row in rows} == {"first", "second"}
    for row, layer in zip(layer_rows(measures), measures.layers, strict=True):
        assert row["num_heads"] == len(layer.heads)
        assert row["kernel_size"] == layer.cover.kernel_size == (2 if layer.layer == "first" else 1)
        assert row["mean_mass_on_kernel"] == pytest.approx(sum(layer.cover.masses) / len(layer.cover.masses))
        assert row["sentence"] == layer.sentence


def test_exact_centers_stand_in_the_rows():
    torch.manual_seed(0)
    model = FullyAttentionalConfig(dim=8, num_layers=1, image_size=(8, 12)).build()
    measures = measure_attention(model, [torch.randn(2, 3, 8, 12)])
    for row, head in zip(head_rows(measures), measures.heads, strict=True):
        assert (row["exact_center_row"], row["exact_center_column"]) == head.exact_center
        assert row["exact_inverse_covariance_row_row"] == head.exact_inverse_covariance[0][0]
        assert row["content_variance"] == 0


def test_weights_without_a_softmax():
    """Absolute values are measured, and the share of negative ones is told."""
    weights = random_layer(num_images=2).weights
    signs = torch.tensor([1.0, -1.0], dtype=torch.float64)[:, None, None, None, None]
    found, plain = (
        measure_records([record_of(layer_of(of, image_size=(6, 12)))]) for of in (3 * signs * weights, weights)
    )
    assert [head.negative_share for head in found.heads] == [0.0, pytest.approx(1.0)]
    for ours, theirs in zip(found.heads, plain.heads, strict=True):
        assert ours.mean_shift == pytest.approx(theirs.mean_shift)
        assert ours.entropy == pytest.approx(theirs.entropy)
    assert "of the weights are negative" in found.layers[0].sentence
