"""Figures of measures: what stands in their panels is what was measured."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from headgrid.figures.head_shapes import head_shapes
from headgrid.figures.head_similarity import head_similarity
from headgrid.figures.heads_by_layer import HeadQuantity, heads_by_layer
from headgrid.figures.kernel_covers import ShownCover, kernel_covers
from headgrid.figures.layer_panels import layer_panels
from headgrid.figures.map_grid import LayerMaps
from headgrid.figures.shift_distributions import shift_distributions

from .reading import frames, panels, picture, rows_of_panels, words


def panel_words(axis) -> list[str]:
    return [text.get_text() for text in axis.texts]


def test_shifts_with_the_query_and_the_mass_of_the_peak():
    first, second = np.random.default_rng(0).random((2, 2, 5, 9))
    layers = [LayerMaps("layer 1", first, (2, 4)), LayerMaps("layer 2", second, (2, 4))]
    masses = {"layer 1": np.array([0.256, 1.0]), "layer 2": np.array([0.004, 0.5])}
    grid = rows_of_panels(panels(shift_distributions(layers, masses, "a model")))
    for row, maps, corners in zip(grid, (first, second), (["26 %", "100 %"], ["0 %", "50 %"]), strict=True):
        for axis, expected, corner in zip(row, maps, corners, strict=True):
            np.testing.assert_array_equal(picture(axis), expected)
            assert [(y, x) for y, x, _ in frames(axis)] == [(2.5, 4.5)]
            assert panel_words(axis) == [corner]
    with pytest.raises(ValueError, match="layer 1 has 2 heads and 1 peak masses"):
        shift_distributions(layers[:1], {"layer 1": np.ones(1)})


def test_each_element_of_a_kernel_names_its_head_and_how_much_it_puts_there():
    masses = [0.1, 0.9, 0.3, 0.5]
    figure = kernel_covers(
        [ShownCover("layer 1", 2, (3, 0, 4, 1), masses), ShownCover("layer 2", 1, (2,), (0.25,))]
    )
    first, second = panels(figure)
    np.testing.assert_array_equal(picture(first), [[0.1, 0.9], [0.3, 0.5]])
    assert panel_words(first) == ["head 3\n10 %", "head 0\n90 %", "head 4\n30 %", "head 1\n50 %"]
    assert [text.get_position() for text in first.texts] == [(0.5, 0.5), (1.5, 0.5), (0.5, 1.5), (1.5, 1.5)]
    assert first.texts[1].get_color() == "white"  # on dark blue
    assert panel_words(second) == ["head 2\n25 %"]
    assert {"layer 1", "mean 45 %", "layer 2", "mean 25 %"} <= set(words(figure))
    assert first.images[0].get_clim() == (0, 1)


def test_large_kernels_have_no_words_and_wrong_ones_are_refused():
    (axis,) = panels(kernel_covers([ShownCover("layer 1", 7, range(49), [0.5] * 49)]))
    assert panel_words(axis) == []
    with pytest.raises(ValueError, match=r"2 x 2 has 4 elements, layer 3 has 3 heads and 4 masses"):
        ShownCover("layer 3", 2, (0, 1, 2), (0.1,) * 4)
    with pytest.raises(ValueError, match="no layers to show"):
        kernel_covers([])


def test_matrices_of_cosines_with_dots_on_pairs_that_look_at_the_same():
    cosines = np.array([[1, 0.95, 0.2], [0.95, 1, 0.9], [0.2, 0.9, 1]])
    figure = head_similarity({"layer 1": cosines, "layer 2": cosines[:2, :2]}, 0.92)
    first, second = panels(figure)
    np.testing.assert_array_equal(picture(first), cosines)
    assert panel_words(first) == ["0", "1", "2"]
    for axis in (first, second):
        (dots,) = axis.lines
        assert sorted(map(tuple, dots.get_xydata())) == [(0.5, 1.5), (1.5, 0.5)]
    (axis,) = panels(head_similarity({"many": np.eye(20)}))
    assert not axis.texts
    assert not axis.lines


def test_more_layers_than_columns_stand_below():
    grid = layer_panels([f"layer {number}" for number in range(7)], "cosine", "")
    assert [len(row) for row in rows_of_panels(panels(grid.figure))] == [4, 3]


def test_a_dot_for_each_head_around_its_layer_and_the_mean():
    values = [np.array([0.2, 0.4]), np.array([]), np.array([0.9])]
    figure = heads_by_layer([HeadQuantity("share", values, highest=1.0), HeadQuantity("reach", values, marked=1.5)])
    shares, reach = figure.axes
    dots = [tuple(line.get_xydata()[0]) for line in shares.lines]
    np.testing.assert_allclose(dots, [(0.85, 0.2), (1.15, 0.4), (3, 0.9)])
    means = [segment[0, 1] for line in shares.collections for segment in line.get_segments()]
    np.testing.assert_allclose(means, [0.3, 0.9])
    assert shares.get_ylim() == (0, 1.04)
    assert shares.get_ylabel() == "share"
    assert list(reach.lines[-1].get_ydata()) == [1.5, 1.5]
    with pytest.raises(ValueError, match="no heads to show"):
        heads_by_layer([HeadQuantity("share", [np.array([])])])


def test_shapes_of_gaussians_and_the_regions_of_degenerate_ones():
    layers = {"layer 1": np.array([[4.0, 2.0], [1e-6, 1e-6]]), "layer 2": np.array([[1.0, 0.0]])}
    figure = head_shapes(layers, 1e-5, 1e5, "a model")
    (axis,) = figure.axes
    first, second = axis.lines
    np.testing.assert_allclose(first.get_xydata(), [(2, 4), (1, 1e-6)])
    np.testing.assert_allclose(second.get_xydata(), [(1e12, 1)])  # infinite, shown where the axis ends
    for line in axis.lines:
        for x, y in line.get_xydata():
            assert axis.get_xlim()[0] < x < axis.get_xlim()[1]
            assert axis.get_ylim()[0] < y < axis.get_ylim()[1]
    below, beside = (region.get_paths()[0].get_extents() for region in axis.collections)
    assert below.y1 == pytest.approx(1e-5)
    assert beside.x0 == pytest.approx(1e5)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["layer 1", "layer 2"]
    with pytest.raises(ValueError, match="no Gaussian heads"):
        head_shapes({"layer 1": np.zeros((0, 2))}, 1e-5, 1e5)
