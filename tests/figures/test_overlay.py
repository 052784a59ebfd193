"""Maps over images: where they lie, and where the query pixel of each layer is."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from headgrid.figures.map_grid import LayerMaps, QueryImage
from headgrid.figures.overlay import OverlaidMap, OverlayRow, overlay, overlay_grid
from headgrid.figures.style import HEAT, SIGNED_HEAT

from .reading import frames, panels, picture, rows_of_panels, words

PIXELS = np.random.default_rng(0).random((8, 12, 3))
WHOLE = (0.0, 0.0, 8.0, 12.0)


def test_maps_lie_over_the_grey_image_in_their_box():
    maps = np.random.default_rng(1).random((2, 4, 3))
    padded = (-2.0, -4.0, 10.0, 16.0)
    layers = [LayerMaps("layer 1", maps, (1, 2)), LayerMaps("layer 2", maps, (1, 2))]
    figure = overlay(layers, [WHOLE, padded], QueryImage(PIXELS, (2.0, 8.0, 2.0, 4.0)), "a title")
    image, *rest = sorted(panels(figure), key=lambda axis: axis.get_position().x0)
    np.testing.assert_array_equal(picture(image), PIXELS)
    (first, second), (third, _) = rows_of_panels(rest)
    for axis, weights in ((first, maps[0]), (second, maps[1]), (third, maps[0])):
        np.testing.assert_allclose(picture(axis, 0), 0.25 + 0.75 * PIXELS.mean(axis=-1))
        np.testing.assert_array_equal(picture(axis, 1), weights)
        assert axis.images[1].get_cmap() is HEAT
        assert (axis.get_xlim(), axis.get_ylim()) == ((0, 12), (8, 0))  # what reaches beyond the image is cut off
    assert list(first.images[1].get_extent()) == [0, 12, 8, 0]  # left, right, bottom, top
    assert list(third.images[1].get_extent()) == [-4, 16, 10, -2]
    # Pixel (1, 2) of a map of 4 x 3: rows 2 to 4 and columns 8 to 12 of the image; with padding elsewhere.
    assert [(row, column) for row, column, _ in frames(first)] == [(3.0, 10.0)]
    assert frames(third)[0][:2] == pytest.approx((-2 + 1.5 * 3, -4 + 2.5 * 20 / 3))


def test_images_are_rows_of_a_grid_and_each_layer_has_its_own_query_pixel():
    coarse, fine = np.eye(2, 3), np.eye(4, 6)
    rows = [
        OverlayRow(name, QueryImage(pixels), [OverlaidMap(coarse, WHOLE, (0, 2)), OverlaidMap(fine, WHOLE)])
        for name, pixels in (("image 3", PIXELS), ("a cat with a long name", PIXELS / 2))
    ]
    figure = overlay_grid(rows, ["layer 1", "layer 4"])
    grid = rows_of_panels(panels(figure))
    assert [len(row) for row in grid] == [3, 3]
    np.testing.assert_array_equal(picture(grid[1][0]), PIXELS / 2)
    np.testing.assert_array_equal(picture(grid[1][1]), coarse)
    np.testing.assert_array_equal(picture(grid[1][2]), fine)
    assert [(row, column) for row, column, _ in frames(grid[0][1])] == [(2.0, 10.0)]
    assert not frames(grid[0][2])
    assert {"image", "layer 1", "layer 4", "image 3"} <= set(words(figure))
    # Names have the room that they need.
    assert all(text.get_window_extent().x0 >= 0 for text in figure.texts)


def test_what_gets_nothing_stays_as_it_is_and_negative_weights_are_violet():
    assert HEAT(0.0)[3] == 0
    assert SIGNED_HEAT(0.5)[3] == pytest.approx(0, abs=0.02)
    red, _, blue, opacity = SIGNED_HEAT(0.0)
    assert blue > red
    assert opacity > 0.5
    weights = np.array([[-1.0, 0.5]])
    row = OverlayRow("one", QueryImage(PIXELS), [OverlaidMap(weights, WHOLE), OverlaidMap(abs(weights), WHOLE)])
    _, first, second = panels(overlay_grid([row], ["a", "b"]))
    for axis in (first, second):
        assert axis.images[1].get_cmap() is SIGNED_HEAT
        assert axis.images[1].get_clim() == (-1, 1)


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        ([], ["a"], "nothing to lay over an image"),
        (
            [OverlayRow("one", QueryImage(PIXELS), [OverlaidMap(np.eye(2), WHOLE)])],
            ["a", "b"],
            "one has 1 maps for 2",
        ),
        ([OverlayRow("one", QueryImage(PIXELS), [])], [], "1 to 13 columns"),
    ],
)
def test_grids_that_cannot_be(rows, columns, message):
    with pytest.raises(ValueError, match=message):
        overlay_grid(rows, columns)
