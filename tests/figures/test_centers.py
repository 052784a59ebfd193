"""Where heads look, as drawn: rows downwards, columns to the right, a panel for each layer or epoch."""

import numpy as np
import pytest
import torch

pytest.importorskip("matplotlib")

from matplotlib.patches import Polygon, Rectangle

from headgrid.analysis import HeadCenters
from headgrid.figures.centers_animation import centers_animation
from headgrid.figures.centers_during_training import centers_during_training
from headgrid.figures.centers_of_layers import centers_of_layers
from headgrid.figures.centers_over_epochs import centers_over_epochs
from headgrid.figures.ellipses import ellipses
from headgrid.figures.style import HEAD_COLORS, HEAD_MARKERS

from .reading import panels, place, rows_of_panels, shown_row, words

CENTERS = ((0.0, 0.0), (2.0, -1.0), (-1.0, 3.0))


def heads(centers=CENTERS, precision=((1.0, 0.0), (0.0, 1.0))) -> HeadCenters:
    return HeadCenters(torch.tensor(centers), torch.tensor(precision).expand(len(centers), 2, 2))


def dots(axis) -> list[tuple[float, float]]:
    """(row, column) of the heads' centres."""
    return [
        (float(line.get_ydata()[0]), float(line.get_xdata()[0]))
        for line in axis.lines
        if len(line.get_xdata()) == 1
    ]


def test_centers_stand_rows_down_and_columns_right_of_the_black_query():
    figure = centers_of_layers({"layer 1": heads(), "layer 2": heads(CENTERS[1:])}, "a title")
    first, second = panels(figure)
    assert dots(first) == list(CENTERS)
    assert dots(second) == list(CENTERS[1:])
    assert shown_row(first, -1.0) < shown_row(first, 0.0) < shown_row(first, 2.0)
    assert shown_row(first, 0.0) == pytest.approx(0.5)
    query = next(patch for patch in first.patches if isinstance(patch, Rectangle))
    assert (query.get_xy(), query.get_width(), query.get_height()) == ((-0.5, -0.5), 1, 1)
    assert query.get_facecolor() == (0, 0, 0, 1)
    # The farthest centre is three pixels away, and two more give it room.
    assert first.get_xlim() == (-5.5, 5.5)
    assert first.get_ylim() == (5.5, -5.5)
    assert {"a title", "layer 1", "layer 2"} <= set(words(figure))
    assert place(figure, "layer 1") < place(figure, "layer 2")


def test_curves_hold_half_and_nine_tenths_of_a_gaussian():
    """Along an axis with standard deviation s, the curve of a share m crosses at s sqrt(-2 ln(1 - m))."""
    (axis,) = panels(centers_of_layers({"only": heads(((1.0, -2.0),), ((1 / 4, 0.0), (0.0, 1.0)))}))
    half, most = (patch.get_xy()[:, ::-1] for patch in axis.patches if isinstance(patch, Polygon))
    for points, share in ((half, 0.5), (most, 0.9)):
        reach = np.sqrt(-2 * np.log(1 - share))
        assert points[:, 0].max() == pytest.approx(1 + 2 * reach, rel=1e-3)
        assert points[:, 1].max() == pytest.approx(-2 + reach, rel=1e-3)
    styles = [patch.get_linestyle() for patch in axis.patches if isinstance(patch, Polygon)]
    assert styles[0] != styles[1]


def test_sixteen_heads_can_be_told_apart():
    centers = tuple((float(row), float(column)) for row in range(4) for column in range(4))
    (axis,) = panels(centers_of_layers({"only": heads(centers)}))
    looks = [(line.get_color(), line.get_marker()) for line in axis.lines if len(line.get_xdata()) == 1]
    assert len(set(looks)) == 16
    assert looks[0] == (HEAD_COLORS[0], HEAD_MARKERS[0])
    assert looks[9] == (HEAD_COLORS[0], HEAD_MARKERS[1])


@pytest.mark.parametrize(("number", "shape"), [(1, [1]), (6, [6]), (8, [4, 4])])
def test_layers_stand_side_by_side(number, shape):
    figure = centers_of_layers({f"layer {layer}": heads() for layer in range(1, number + 1)})
    assert [len(row) for row in rows_of_panels(panels(figure))] == shape


def test_panels_of_one_layer_follow_the_epochs():
    epochs = {epoch: heads(((epoch / 2, 1.0),)) for epoch in (0, 2, 4)}
    figure = centers_during_training(epochs)
    assert [dots(axis) for axis in panels(figure)] == [[(0.0, 1.0)], [(1.0, 1.0)], [(2.0, 1.0)]]
    assert [place(figure, name)[0] for name in ("before training", "epoch 2", "epoch 4")] == sorted(
        place(figure, name)[0] for name in ("before training", "epoch 2", "epoch 4")
    )


def test_epochs_are_rows_and_layers_are_columns():
    epochs = {
        epoch: {"layer 1": heads(((float(epoch), 0.0),)), "layer 3": heads(((float(epoch), 1.0),))}
        for epoch in (0, 3, 4)
    }
    rows = rows_of_panels(panels(centers_over_epochs(epochs, "a title")))
    assert [[dots(axis)[0] for axis in row] for row in rows] == [
        [(0.0, 0.0), (0.0, 1.0)],
        [(3.0, 0.0), (3.0, 1.0)],
        [(4.0, 0.0), (4.0, 1.0)],
    ]
    assert {"layer 1", "layer 3", "epoch\n3"} <= set(words(centers_over_epochs(epochs)))


def test_ellipses_are_numbered_at_their_centers_unless_these_are_far_out():
    figure = ellipses({"layer 1": heads(((1.0, -2.0), (50.0, 0.0)), ((1.0, 0.5), (0.5, 1.0)))})
    (axis,) = panels(figure)
    assert [(text.get_text(), text.xy) for text in axis.texts] == [("0", (-2.0, 1.0))]
    curve = next(patch for patch in axis.patches if isinstance(patch, Polygon)).get_xy() - (-2.0, 1.0)
    # Rows and columns rise and fall against each other where the precision's other corner is positive.
    assert np.mean(curve[:, 0] * curve[:, 1]) < -0.1
    assert [len(row) for row in rows_of_panels(panels(ellipses({str(n): heads() for n in range(4)})))] == [2, 2]


def test_frames_of_the_animation_have_one_size_and_longer_and_longer_trails():
    epochs = {epoch: {"all layers": heads(((epoch * 1.0, 2.0), (0.0, -epoch * 1.0)))} for epoch in range(3)}
    figures = list(centers_animation(epochs, "a run with a name that is longer than its panel is wide"))
    assert len({tuple(figure.get_size_inches()) for figure in figures}) == 1
    assert len({panels(figure)[0].get_xlim() for figure in figures}) == 1
    for epoch, figure in enumerate(figures):
        (axis,) = panels(figure)
        ways = [line for line in axis.lines if line.get_alpha() == 0.6]
        assert [list(line.get_ydata()) for line in ways] == [
            [float(before) for before in range(epoch + 1)],
            [0.0] * (epoch + 1),
        ]
        assert list(ways[1].get_xdata()) == [-float(before) for before in range(epoch + 1)]


@pytest.mark.parametrize(
    "draw",
    [
        lambda: centers_of_layers({}),
        lambda: centers_during_training({}),
        lambda: centers_over_epochs({}),
        lambda: centers_over_epochs({0: {"layer 1": heads()}, 1: {"layer 2": heads()}}),
        lambda: ellipses({}),
        lambda: list(centers_animation({})),
    ],
)
def test_nothing_to_show(draw):
    with pytest.raises(ValueError, match=r"there are no|same layers"):
        draw()
