"""Attention maps as drawn: which map stands where, and the query pixel on it. No map is square."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from headgrid.figures.attention_maps import attention_maps
from headgrid.figures.average_attention import average_attention
from headgrid.figures.map_grid import LayerMaps, QueryImage
from headgrid.figures.style import ATTENTION, SIGNED

from .reading import frames, panels, picture, place, rows_of_panels, shown_row, words


def layer(name: str, num_heads: int, query=(1, 4), seed: int = 0, **more) -> LayerMaps:
    maps = np.random.default_rng(seed).random((num_heads, 3, 5))
    return LayerMaps(name, maps, query, **more)


def test_layers_are_rows_and_heads_are_columns():
    layers = [layer("layer 1", 2), layer("layer 2", 4, seed=1)]
    figure = attention_maps(layers, title="a title")
    rows = rows_of_panels(panels(figure))
    assert [len(row) for row in rows] == [2, 4]
    for row, of_layer in zip(rows, layers, strict=True):
        for axis, weights in zip(row, of_layer.maps, strict=True):
            np.testing.assert_array_equal(picture(axis), weights)
            assert axis.images[0].get_cmap() is ATTENTION
            # From nothing, white, to the map's own largest weight.
            assert axis.images[0].get_clim() == (0, weights.max())
    assert {"layer 1", "layer 2", "a title", "head", "0", "3"} <= set(words(figure))
    assert place(figure, "layer 1")[1] < place(figure, "layer 2")[1]


def test_the_query_pixel_is_framed_where_it_stands():
    (axis,) = panels(attention_maps([layer("layer 1", 1, query=(2, 1))]))
    ((row, column, size),) = frames(axis)
    assert (row, column) == (2.5, 1.5)
    assert 1 < size < 1.5  # the frame runs around the pixel and leaves it free
    # Pixel (0, 0) is in the upper left corner, and a map of three rows is wider than high.
    assert shown_row(axis, 0.5) == pytest.approx(1 / 6)
    assert axis.get_xlim() == (0, 5)
    box = axis.get_position()
    width, height = axis.figure.get_size_inches()
    assert (box.width * width) / (box.height * height) == pytest.approx(5 / 3)


def test_the_image_stands_beside_the_maps_with_its_query_pixel():
    pixels = np.random.default_rng(0).random((6, 10, 3))
    figure = attention_maps([layer("layer 1", 2)], QueryImage(pixels, (2.0, 8.0, 2.0, 2.0)))
    image, *maps = sorted(panels(figure), key=lambda axis: axis.get_position().x0)
    np.testing.assert_array_equal(picture(image), pixels)
    ((row, column, size),) = frames(image)
    assert (row, column) == (3.0, 9.0)
    assert 2 < size < 3
    assert len(maps) == 2
    assert "query pixel" in words(figure)


def test_grey_images():
    figure = attention_maps([layer("layer 1", 1)], QueryImage(np.full((4, 4, 1), 0.5)))
    assert [picture(axis).shape for axis in panels(figure)] == [(3, 5), (4, 4)]


def test_sorted_heads_say_their_numbers():
    of_layer = layer("layer 1", 3, heads=(2, 0, 1))
    figure = attention_maps([of_layer])
    assert [axis.texts[0].get_text() for axis in panels(figure)] == ["2", "0", "1"]
    assert "head" not in words(figure)


def test_more_heads_than_fit_go_on_in_the_next_line():
    figure = attention_maps([layer("layer 1", 35), layer("layer 2", 2)])
    assert [len(row) for row in rows_of_panels(panels(figure))] == [16, 16, 3, 2]
    assert {"layer 1", "+ 16", "+ 32", "layer 2"} <= set(words(figure))


def test_weights_of_either_sign_have_one_scale_around_zero():
    signed = LayerMaps("layer 1", np.array([[[0.5, -2.0]], [[0.1, 0.2]]]), (0, 0))
    first, second = panels(attention_maps([signed]))
    assert first.images[0].get_cmap() is SIGNED
    assert second.images[0].get_cmap() is SIGNED
    assert first.images[0].get_clim() == (-2, 2)
    assert second.images[0].get_clim() == (-0.2, 0.2)


def test_a_layer_that_lost_its_heads_keeps_its_row():
    figure = attention_maps([layer("layer 1", 2), LayerMaps("layer 2", np.zeros((0, 3, 5)), (1, 4))])
    assert len(panels(figure)) == 2
    assert any(text.get_text() == "no heads" for axis in figure.axes for text in axis.texts)


def test_averages_mark_no_pixel():
    figure = average_attention([layer("layer 1", 3, query=None)], QueryImage(np.zeros((4, 4, 3))))
    assert len(panels(figure)) == 4
    assert not any(frames(axis) for axis in panels(figure))
    assert "attention received" in words(figure)
    assert "query pixel" not in words(figure)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: layer("layer 1", 2, query=(3, 0)),
            r"the query pixel \(3, 0\) is outside of the maps of layer 1, 3 x 5",
        ),
        (lambda: layer("layer 1", 2, query=(0, -1)), "outside of the maps"),
        (lambda: layer("layer 1", 2, heads=(0, 0)), "do not name each once"),
        (lambda: attention_maps([layer("layer 1", 2, query=None)]), "layer 1 has no query pixel"),
        (lambda: attention_maps([]), "no attention maps to show"),
        (lambda: average_attention([LayerMaps("layer 1", np.zeros((0, 3, 5)))]), "no attention maps to show"),
    ],
)
def test_maps_that_cannot_be(make, message):
    with pytest.raises(ValueError, match=message):
        make()
