"""What the figures of measures contain, compared with what is measured of the model. No image is square."""

from dataclasses import replace

import numpy as np
import pytest
import torch

pytest.importorskip("matplotlib")

import headgrid
from figures.reading import panels, picture, rows_of_panels, words
from headgrid.analysis import measure_attention, record_attention
from headgrid.analysis.degenerate_heads import degenerate_heads
from headgrid.analysis.rollout import rollout
from headgrid.analysis.shift_distribution import shift_distributions
from headgrid.cli.figures.draw_measures import (
    draw_content_dependence,
    draw_head_shapes,
    draw_head_similarity,
    draw_kernel_covers,
    draw_locality,
    draw_rollout,
    draw_shift_distributions,
)
from headgrid.cli.figures.example import example_of_data
from headgrid.cli.figures.subject import LeftOut, Subject

from .figure_subjects import save, subject_of, write_images


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    write_images(folder / "images")
    for name in ("learned-content", "quadratic-generalized", "report-vit", "report-san-pairwise"):
        save(name, folder)
    return folder


@pytest.fixture
def make_subject(folder):
    def make(name: str, **choices) -> Subject:
        return subject_of(folder / f"{name}.safetensors", folder / "images", **choices)

    return make


def first_images(subject: Subject) -> torch.Tensor:
    return torch.cat([example_of_data(subject.data, number).images for number in range(3)])


def only(drawings):
    (drawing,) = drawings
    return drawing.name, drawing.figure


@pytest.mark.parametrize("sort_heads", [False, True])
def test_distributions_over_shifts(make_subject, sort_heads):
    subject = make_subject("learned-content", sort_heads=sort_heads)
    name, figure = only(draw_shift_distributions(subject))
    assert name == "shift-distributions"
    record = record_attention(subject.network, first_images(subject))
    for row, distribution in zip(
        rows_of_panels(panels(figure)), shift_distributions([record]).values(), strict=True
    ):
        assert distribution.shares.shape[1] < distribution.shares.shape[2]
        for axis in row:
            shown = picture(axis)
            differences = np.abs(distribution.shares.numpy() - shown).max(axis=(1, 2))
            head = int(differences.argmin())
            assert differences[head] < 1e-9
            assert sort_heads or axis is row[head]
            mass = float(distribution.mass(distribution.peak_shifts()[head])[head])
            assert f"{100 * mass:.0f} %" in [text.get_text() for text in axis.texts]


def test_what_analyze_measures_is_what_is_drawn(make_subject):
    subject = make_subject("learned-content")
    measures = measure_attention(subject.network, [first_images(subject)])
    _, covers = only(draw_kernel_covers(subject))
    _, similarity = only(draw_head_similarity(subject))
    _, locality = only(draw_locality(subject))
    _, content = only(draw_content_dependence(subject))
    for cover, matrix, layer in zip(panels(covers), panels(similarity), measures.layers, strict=True):
        np.testing.assert_allclose(picture(cover).ravel(), layer.cover.masses, atol=1e-6)
        np.testing.assert_allclose(picture(matrix), layer.similarity, atol=1e-6)

    def drawn(axis):
        return [line.get_ydata()[0] for line in axis.lines][: len(measures.heads)]

    for axis, expected in zip(
        (*locality.axes, *content.axes),
        (
            [head.mean_distance_in_image for head in measures.heads],
            [head.non_locality for head in measures.heads],
            [np.exp(head.entropy) for head in measures.heads],
            [head.content_variance for head in measures.heads],
            [head.translation_invariance for head in measures.heads],
        ),
        strict=True,
    ):
        np.testing.assert_allclose(drawn(axis), expected, rtol=1e-5, atol=1e-6)


def test_shapes_of_gaussian_heads(make_subject):
    subject = make_subject("quadratic-generalized")
    name, figure = only(draw_head_shapes(subject))
    assert name == "head-shapes"
    shown = np.concatenate([line.get_xydata() for line in figure.axes[0].lines])
    spreads = degenerate_heads(headgrid.load(subject.path))
    expected = [(spread.condition_number, spread.eigenvalues[0]) for spread in spreads]
    np.testing.assert_allclose(shown, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["learned-content", "report-vit"])
def test_rollout_of_a_query_pixel_or_of_the_class_token(make_subject, name):
    subject = make_subject(name, images=("1", "4"), query=(5, 21))
    _, figure = only(draw_rollout(subject))
    grid = rows_of_panels(panels(figure))
    assert len(grid) == 2
    for row, example in zip(grid, subject.examples, strict=True):
        record = record_attention(subject.network, example.images)
        layers = list(record.layers.items())
        assert len(row) == 1 + len(layers)
        for depth, axis in enumerate(row[1:], start=1):
            result = rollout(replace(record, layers=dict(layers[:depth])))
            if result.num_tokens:
                expected = result.of_token(0)
            else:
                query = subject.views(example)[0].query
                assert query[1] > query[0] > 0
                expected = result.of_query(*query)
            np.testing.assert_allclose(picture(axis), expected[0], rtol=1e-5)
    assert {"to layer 1", "image 4"} <= set(words(figure))


def test_what_does_not_apply_is_said(make_subject):
    with pytest.raises(LeftOut, match="only heads whose score is one quadratic term"):
        next(draw_head_shapes(make_subject("learned-content")))
    with pytest.raises(LeftOut, match="from two images on"):
        next(draw_content_dependence(make_subject("learned-content", num_images=1)))
