import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.patches import Rectangle

from headgrid.figures.robustness import robustness_bars

UNCHANGED = np.array([0.8, 0.5])
ACCURACIES = np.array([[0.6, 0.79, 0.0], [0.55, 0.3, 0.1]])


def test_a_bar_for_every_model_and_check_in_an_outline_of_the_accuracy_without_it():
    figure = robustness_bars(("one", "other"), ("clockwise 90", "upside-down", "PGD"), UNCHANGED, ACCURACIES)
    (axis,) = figure.axes
    rectangles = [patch for patch in axis.patches if isinstance(patch, Rectangle)]
    filled = [(patch.get_x(), patch.get_height()) for patch in rectangles if patch.get_fill()]
    hollow = [(patch.get_x(), patch.get_height()) for patch in rectangles if not patch.get_fill()]
    assert [height for _, height in filled] == [0.8, 0.6, 0.79, 0.0, 0.5, 0.55, 0.3, 0.1]
    assert [height for _, height in hollow] == [0.8] * 3 + [0.5] * 3
    assert [place for place, _ in hollow] == [place for place, _ in (*filled[1:4], *filled[5:8])]
    assert [label.get_text() for label in axis.get_xticklabels()] == [
        "unchanged", "clockwise\n90", "upside-down", "PGD",
    ]  # fmt: skip
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["one", "other"]
    assert axis.get_ylim()[1] > 0.8


def test_a_number_stands_over_its_bar_or_over_the_outline_that_would_strike_it_out():
    figure = robustness_bars(("one", "other"), ("clockwise 90", "upside-down", "PGD"), UNCHANGED, ACCURACIES)
    numbers = [(text.get_text(), text.xy[1]) for text in figure.axes[0].texts]
    assert numbers == [
        ("80", 0.8), ("60", 0.6), ("79", 0.8), ("0", 0.0), ("50", 0.5), ("55", 0.55), ("30", 0.3), ("10", 0.1),
    ]  # fmt: skip


def test_many_models_have_no_numbers_and_no_check_is_fine():
    many = robustness_bars("abcdef", (), np.linspace(0, 1, 6), np.zeros((6, 0)))
    assert not many.axes[0].texts
    assert len([patch for patch in many.axes[0].patches if isinstance(patch, Rectangle)]) == 6


def test_numbers_of_other_models_are_refused():
    with pytest.raises(ValueError, match=r"2 models and 1 checks need accuracies of shape \(2, 1\) and \(2,\)"):
        robustness_bars(("one", "other"), ("PGD",), UNCHANGED, ACCURACIES)
