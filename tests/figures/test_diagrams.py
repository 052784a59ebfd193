"""The illustration of a layer and the diagrams of stacks."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from headgrid.figures.layer_illustration import ShownHead, layer_illustration
from headgrid.figures.map_grid import QueryImage
from headgrid.figures.stack_diagram import KEPT_KEY, stack_diagram
from headgrid.stacks import Hierarchical, OwnKeys, OwnWeights, Plain

from .reading import frames, panels, picture

IMAGE = QueryImage(np.random.default_rng(0).random((8, 12, 3)), (2.0, 6.0, 2.0, 2.0))


def head(number: int, shift: tuple[float, float]) -> ShownHead:
    weights = np.zeros((4, 6))
    weights[1 + round(shift[0]), 3 + round(shift[1])] = 1
    return ShownHead(number, weights, shift)


def test_the_illustration_shows_image_query_shifts_maps_and_matrices():
    heads = [head(0, (0.0, 0.0)), head(2, (2.0, -1.0)), head(7, (-1.0, 1.0))]
    figure = layer_illustration(IMAGE, heads, (1, 3), num_heads=9)
    page = figure.axes[0]
    image, *maps = panels(figure)
    np.testing.assert_array_equal(picture(image), IMAGE.pixels)
    assert [(row, column) for row, column, _ in frames(image)] == [(3.0, 7.0)]
    for axis, of in zip(maps, heads, strict=True):
        np.testing.assert_array_equal(picture(axis), of.map)
        assert [(line.get_ydata()[0], line.get_xdata()[0]) for line in axis.lines] == [(1.5, 3.5)]
    tops = [axis.get_position().y1 for axis in maps]
    assert tops == sorted(tops, reverse=True)
    # A dot on the query for the head that looks at it; arrows from it for the others, two image pixels to a map's.
    arrows = [patch for patch in image.patches if isinstance(patch, FancyArrowPatch)]
    assert [arrow._posA_posB for arrow in arrows] == [[(7.0, 3.0), (5.0, 7.0)], [(7.0, 3.0), (9.0, 1.0)]]  # type: ignore[attr-defined]
    assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in image.lines] == [(7.0, 3.0)]
    said = [text.get_text() for text in page.texts]
    assert {"$W^{(0)}$", "$W^{(2)}$", "$W^{(7)}$", "..."} <= set(said)
    assert "head 2: $\\Delta$ = (+2.0, −1.0)" in said
    all_shown = layer_illustration(IMAGE, heads, (1, 3), num_heads=3)
    assert "..." not in [text.get_text() for text in all_shown.axes[0].texts]


@pytest.mark.parametrize(
    ("image", "heads", "query", "message"),
    [
        (IMAGE, [], (1, 3), "shown by 1 to 9 of them, got 0"),
        (QueryImage(IMAGE.pixels), [head(0, (0.0, 0.0))], (1, 3), "needs the query pixel"),
        (IMAGE, [head(0, (0.0, 0.0))], (4, 0), "outside of the maps of head 0"),
    ],
)
def test_illustrations_that_cannot_be(image, heads, query, message):
    with pytest.raises(ValueError, match=message):
        layer_illustration(image, heads, query, num_heads=9)


def boxes(figure) -> dict[str, tuple]:
    """Word -> the colour of the box that it stands in."""
    (page,) = figure.axes
    colors = {}
    for patch in page.patches:
        if isinstance(patch, FancyBboxPatch):
            middle = patch.get_x() + patch.get_width() / 2, patch.get_y() + patch.get_height() / 2
            for text in page.texts:
                if np.allclose(text.get_position(), middle):
                    colors.setdefault(text.get_text(), set()).add(patch.get_facecolor())
    return colors


def lines_of_kept_key(figure) -> int:
    (page,) = figure.axes
    return sum(line.get_color() == KEPT_KEY for line in page.lines)


@pytest.mark.parametrize(
    ("stack", "keys", "num_colors", "kept"),
    [
        (Plain(), ["$K_1$", "$K_2$", "$K_3$"], 3, False),
        (Hierarchical(), ["$K$"], 1, True),
        (Hierarchical(weights=OwnWeights()), ["$K$"], 3, True),
        (Hierarchical(key=OwnKeys()), ["$K_1$", "$K_2$", "$K_3$"], 1, False),
    ],
)
def test_a_colour_for_each_set_of_weights_and_a_box_for_each_key(stack, keys, num_colors, kept):
    figure = stack_diagram(stack, 3)
    found = boxes(figure)
    assert [word for word in found if "K" in word] == keys
    queries = [found[f"$Q_{layer}$"] for layer in (1, 2, 3)]
    assert len(set.union(*queries)) == num_colors
    assert lines_of_kept_key(figure) == kept
    assert ("key of the first layer" in [text.get_text() for text in figure.axes[0].texts]) == kept


def test_a_stack_has_layers():
    with pytest.raises(ValueError, match="at least one layer, got 0"):
        stack_diagram(Plain(), 0)
    assert lines_of_kept_key(stack_diagram(Hierarchical(), 1)) == 0
