"""SAN's footprint as drawn: a map of queries for each neighbour, all of a layer on one scale."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from headgrid.figures.footprint_maps import FootprintMaps, footprint_maps, footprint_square
from headgrid.figures.map_grid import QueryImage

from .reading import panels, picture, place, rows_of_panels, words


def maps(name: str, size: int, lowest: float = 0.0, seed: int = 0) -> FootprintMaps:
    reach = size // 2
    shifts = [(row, column) for row in range(-reach, reach + 1) for column in range(-reach, reach + 1)]
    weights = np.random.default_rng(seed).uniform(lowest, 1, (size * size, 4, 6))
    return FootprintMaps(name, weights, np.array(shifts))


def test_layers_are_rows_and_neighbours_are_columns():
    layers = [maps("layer 1", 3), maps("layer 2", 3, seed=1)]
    figure = footprint_maps(layers)
    rows = rows_of_panels(panels(figure))
    assert [len(row) for row in rows] == [9, 9]
    for row, layer in zip(rows, layers, strict=True):
        for axis, weights in zip(row, layer.weights, strict=True):
            np.testing.assert_array_equal(picture(axis), weights)
            assert axis.images[0].get_clim() == (0, layer.weights.max())
    names = ["−1, −1", "−1, 0", "−1, +1", "0, −1", "0, 0", "0, +1", "+1, −1", "+1, 0", "+1, +1"]
    assert sorted(names, key=lambda name: place(figure, name)[0]) == names


def test_large_footprints_stand_as_squares():
    layer = maps("layer 1", 5, lowest=-0.5)
    figure = footprint_square(layer, QueryImage(np.zeros((4, 6, 3))), "a title")
    image, *_ = sorted(panels(figure), key=lambda axis: axis.get_position().x0)
    assert picture(image).shape == (4, 6, 3)
    rows = rows_of_panels([axis for axis in panels(figure) if axis is not image])
    assert [len(row) for row in rows] == [5] * 5
    for number, axis in enumerate(axis for row in rows for axis in row):
        np.testing.assert_array_equal(picture(axis), layer.weights[number])
        assert axis.images[0].get_clim() == (-layer.largest, layer.largest)
    assert words(figure).count("−2") == words(figure).count("+1") == 2


def test_footprints_that_do_not_fit_a_row():
    with pytest.raises(ValueError, match=r"sizes \[5\]: draw each layer with footprint_square"):
        footprint_maps([maps("layer 1", 5)])
    with pytest.raises(ValueError, match=r"sizes \[1, 3\]"):
        footprint_maps([maps("layer 1", 3), maps("layer 2", 1)])
