"""What the figures of a model contain, compared with what the model does. No image is square."""

from dataclasses import replace

import numpy as np
import pytest
import torch

pytest.importorskip("matplotlib")

import headgrid
from figures.reading import frames, panels, picture, rows_of_panels, words
from headgrid.analysis import head_centers, head_order, measure_attention, record_attention
from headgrid.analysis.average_attention import average_attention
from headgrid.cli.figures.draw_centers import draw_centers_of_layers, draw_fitted_ellipses
from headgrid.cli.figures.draw_curves import epochs_before
from headgrid.cli.figures.draw_maps import (
    draw_attention_maps,
    draw_average_attention,
    draw_footprint_maps,
    draw_layer_illustration,
    draw_mean_attention_maps,
)
from headgrid.cli.figures.draw_overlays import draw_class_token_overlay, draw_overlay, draw_overlay_grid
from headgrid.cli.figures.subject import LeftOut, Subject
from headgrid.experiments import StoredWeights, save_model
from headgrid.stacks import Hierarchical

from .figure_subjects import save, short_experiment, subject_of, write_images

QUERY = (5, 21)
"""On images of 16 x 24."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    write_images(folder / "images")
    for name in ("learned-content", "quadratic", "report-vit", "report-san-pairwise", "report-san-patchwise"):
        save(name, folder)
    return folder


@pytest.fixture
def make_subject(folder):
    def make(name: str, **choices) -> Subject:
        return subject_of(folder / f"{name}.safetensors", folder / "images", **({"query": QUERY} | choices))

    return make


def only(drawings):
    (drawing,) = drawings
    return drawing.name, drawing.figure


def maps_and_image(figure):
    """The rows of maps, and the image to the left of them."""
    image, *maps = sorted(panels(figure), key=lambda axis: axis.get_position().x0)
    return rows_of_panels(maps), image


def test_maps_are_those_of_the_query_pixel(make_subject):
    subject = make_subject("learned-content", images=("3",))
    name, figure = only(draw_attention_maps(subject))
    assert name == "attention-maps-image-3"
    rows, image = maps_and_image(figure)
    example = subject.examples[0]
    np.testing.assert_array_equal(picture(image), example.pixels)
    record = record_attention(subject.network, example.images)
    cell = 16 // record.layers[next(iter(record.layers))].grid[0]
    at = QUERY[0] // cell, QUERY[1] // cell
    for row, layer in zip(rows, record, strict=True):
        expected = layer.weights[0, :, at[0], at[1]]
        assert expected.shape[1] < expected.shape[2]
        for axis, weights in zip(row, expected, strict=True):
            np.testing.assert_allclose(picture(axis), weights, rtol=1e-6)
            assert [(y, x) for y, x, _ in frames(axis)] == [(at[0] + 0.5, at[1] + 0.5)]
    # The pixel's cell on the image holds the pixel that was asked for.
    ((y, x, _),) = frames(image)
    assert (y, x) == ((at[0] + 0.5) * cell, (at[1] + 0.5) * cell)
    assert abs(y - (QUERY[0] + 0.5)) <= cell / 2
    assert abs(x - (QUERY[1] + 0.5)) <= cell / 2


def test_pixels_are_what_people_see(make_subject, folder):
    (example,) = make_subject("quadratic", images=("0",)).examples
    from_file = make_subject("quadratic", images=(str(folder / "images/test/class-0/0.png"),)).examples[0]
    np.testing.assert_allclose(example.pixels, from_file.pixels, atol=1e-6)
    torch.testing.assert_close(example.images, from_file.images, atol=1e-5, rtol=1e-5)
    assert example.pixels.shape == (16, 24, 3)
    assert example.pixels.max() > 0.9


def test_sorted_heads_stand_in_the_order_of_their_similarity(make_subject):
    plain = maps_and_image(only(draw_attention_maps(make_subject("quadratic")))[1])[0]
    ordered = maps_and_image(only(draw_attention_maps(make_subject("quadratic", sort_heads=True)))[1])[0]
    for row, sorted_row in zip(plain, ordered, strict=True):
        maps = np.stack([picture(axis) for axis in row])
        order = head_order(maps)
        assert [axis.texts[0].get_text() for axis in sorted_row] == [str(head) for head in order]
        np.testing.assert_array_equal(np.stack([picture(axis) for axis in sorted_row]), maps[list(order)])


def test_means_are_over_the_first_images(make_subject):
    subject = make_subject("learned-content", num_images=3)
    name, figure = only(draw_mean_attention_maps(subject))
    assert name == "mean-attention-maps"
    assert any("mean over 3 images" in text for text in words(figure))
    batch = torch.cat(list(subject.batches("")))
    assert len(batch) == 3
    rows = rows_of_panels(panels(figure))
    for row, layer in zip(rows, record_attention(subject.network, batch), strict=True):
        cell = 16 // layer.grid[0]
        expected = layer.weights[:, :, QUERY[0] // cell, QUERY[1] // cell].mean(dim=0)
        np.testing.assert_allclose(np.stack([picture(axis) for axis in row]), expected, rtol=1e-5)


def test_averages_are_what_pixels_receive(make_subject):
    subject = make_subject("learned-content", images=("1", "2"))
    drawings = list(draw_average_attention(subject))
    assert [drawing.name for drawing in drawings] == ["average-attention-image-1", "average-attention-image-2"]
    for drawing, example in zip(drawings, subject.examples, strict=True):
        rows, image = maps_and_image(drawing.figure)
        assert not frames(image)
        for row, layer in zip(rows, record_attention(subject.network, example.images), strict=True):
            expected = average_attention(layer).received[0]
            np.testing.assert_allclose(np.stack([picture(axis) for axis in row]), expected, rtol=1e-5)


def test_footprints_are_means_over_the_groups(make_subject):
    for name in ("report-san-pairwise", "report-san-patchwise"):
        subject = make_subject(name)
        _, figure = only(draw_footprint_maps(subject))
        rows, _ = maps_and_image(figure)
        with torch.no_grad():
            _, outputs = subject.network(subject.examples[0].images, record=True)
        assert len(rows) == len(outputs)
        for row, output in zip(rows, outputs.values(), strict=True):
            expected = output.weights[0].mean(dim=0)
            assert expected.shape[0] != expected.shape[1]
            for position, axis in enumerate(row):
                np.testing.assert_allclose(picture(axis), expected[..., position], rtol=1e-5)
    with pytest.raises(LeftOut, match="only SAN"):
        next(draw_footprint_maps(make_subject("quadratic")))


def test_overlays_lie_over_the_whole_image(make_subject):
    subject = make_subject("report-san-pairwise")
    _, figure = only(draw_overlay(subject))
    rows, _ = maps_and_image(figure)
    for row, layer in zip(rows, record_attention(subject.network, subject.examples[0].images), strict=True):
        cell = 16 / layer.grid[0]
        for axis in row:
            assert list(axis.images[1].get_extent()) == [0, 24, 16, 0]
            # Each layer frames its own query pixel: coarser layers have larger ones.
            ((y, x, size),) = frames(axis)
            assert (y // cell, x // cell) == (QUERY[0] // cell, QUERY[1] // cell)
            assert cell < size < 1.6 * cell


def test_grids_show_images_of_all_parts_of_the_data_and_the_mean_over_the_heads(make_subject):
    subject = make_subject("quadratic")
    _, figure = only(draw_overlay_grid(subject))
    rows = rows_of_panels(panels(figure))
    assert [example.name for example in subject.examples] == ["0", "1", "3", "4"]
    assert {f"image {number}" for number in (0, 1, 3, 4)} <= set(words(figure))
    for row, example in zip(rows, subject.examples, strict=True):
        np.testing.assert_array_equal(picture(row[0]), example.pixels)
        for axis, view in zip(row[1:], subject.views(example), strict=True):
            np.testing.assert_allclose(picture(axis, 1), view.of_query.mean(axis=0))


def test_the_class_token_looks_at_patches(make_subject):
    subject = make_subject("report-vit")
    _, figure = only(draw_class_token_overlay(subject))
    rows, image = maps_and_image(figure)
    assert not frames(image)
    for row, layer in zip(rows, record_attention(subject.network, subject.examples[0].images), strict=True):
        assert layer.tokens is not None
        for axis, expected in zip(row, layer.tokens.to_pixels[0, :, 0], strict=True):
            np.testing.assert_allclose(picture(axis, 1), expected, rtol=1e-5)
            assert not frames(axis)
    with pytest.raises(LeftOut, match="no class token"):
        next(draw_class_token_overlay(make_subject("quadratic")))


def test_the_illustration_says_where_heads_look(make_subject):
    subject = make_subject("quadratic", layer=2)
    _, figure = only(draw_layer_illustration(subject))
    assert len(panels(figure)) == 1 + 4
    said = [text.get_text() for text in figure.axes[0].texts]
    assert "quadratic: layer 2" in said
    centers = list(head_centers(subject.network).values())[1].centers
    named = [text for text in said if text.startswith("head ")]
    for text in named:
        head = int(text.split()[1].rstrip(":"))
        row, column = (float(part) for part in text.replace("−", "-").split("(")[1].rstrip(")").split(","))
        assert (row, column) == pytest.approx(centers[head].tolist(), abs=0.051)
    # Of a head without a centre it is the pixel with the most attention.
    learned = make_subject("learned-content")
    text = only(draw_layer_illustration(learned))[1].axes[0].texts
    view = learned.views(learned.examples[0])[0]
    first = next(each.get_text() for each in text if each.get_text().startswith("head "))
    head = int(first.split()[1].rstrip(":"))
    row, column = np.unravel_index(view.of_query[head].argmax(), view.of_query[head].shape)
    shift = row - view.query_on_keys[0], column - view.query_on_keys[1]
    assert first.endswith("({}, {})".format(*("0" if s == 0 else f"{s:+.1f}".replace("-", "−") for s in shift)))


def test_fitted_ellipses_stand_at_the_mean_shifts(make_subject):
    subject = make_subject("learned-content")
    axes = panels(only(draw_fitted_ellipses(subject))[1])
    measures = measure_attention(subject.network, subject.batches(""))
    for axis, layer in zip(axes, measures.layers, strict=True):
        dots = [(line.get_ydata()[0], line.get_xdata()[0]) for line in axis.lines if len(line.get_xdata()) == 1]
        np.testing.assert_allclose(dots, [head.mean_shift for head in layer.heads], atol=1e-6)


def test_layers_that_lost_their_heads_count(folder, tmp_path):
    path = save("quadratic", tmp_path, num_layers=3, heads_per_layer=(2, 0, 3))
    subject = subject_of(path, folder / "images")
    assert [view.name for view in subject.views(subject.examples[0])] == ["layer 1", "layer 3"]
    assert list(subject.last_centers()) == ["layer 1", "layer 3"]
    assert [len(row) for row in maps_and_image(only(draw_attention_maps(subject))[1])[0]] == [2, 3]


def test_shared_weights_have_one_panel(folder, tmp_path):
    path = save("quadratic", tmp_path, stack=Hierarchical())
    subject = subject_of(path, folder / "images")
    _, figure = only(draw_centers_of_layers(subject))
    assert len(panels(figure)) == 1
    assert "all layers" in words(figure)
    assert len(subject.views(subject.examples[0])) == 2


def test_a_pruned_models_curve_goes_on_where_the_first_training_ended(tmp_path):
    experiment = short_experiment("quadratic")
    model = headgrid.create("quadratic", "tiny")
    save_model(model, tmp_path / "pruned.safetensors", experiment=experiment)
    assert epochs_before(experiment) == 0
    retrained = replace(experiment, initial_weights=StoredWeights.of(tmp_path / "pruned.safetensors"))
    assert epochs_before(retrained) == 2
    save_model(model, tmp_path / "pruned-again.safetensors", experiment=retrained)
    again = replace(experiment, initial_weights=StoredWeights.of(tmp_path / "pruned-again.safetensors"))
    assert epochs_before(again) == 4
    # The run's copy says it when the file is gone.
    copy = tmp_path / "initial.safetensors"
    (tmp_path / "pruned.safetensors").rename(copy)
    assert epochs_before(retrained, copy) == 2
    assert epochs_before(retrained) == 0
