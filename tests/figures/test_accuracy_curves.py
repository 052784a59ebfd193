"""Curves of runs: every epoch, its accuracy, and names that can be told apart."""

import pytest

pytest.importorskip("matplotlib")

from headgrid.figures.accuracy_curves import AccuracyCurve, accuracy_curves


def test_a_line_for_each_run_and_one_for_guessing():
    curves = [
        AccuracyCurve("plain", (1, 2, 4), (0.3, 0.5, 0.6)),
        AccuracyCurve("pruned", (1, 2), (0.55, 0.61), first_epoch=4),
    ]
    figure = accuracy_curves(curves, chance=0.1)
    (axis,) = figure.axes
    plain, pruned, guessing = axis.lines
    assert (list(plain.get_xdata()), list(plain.get_ydata())) == ([1, 2, 4], [0.3, 0.5, 0.6])
    assert (list(pruned.get_xdata()), list(pruned.get_ydata())) == ([5, 6], [0.55, 0.61])
    assert list(guessing.get_ydata()) == [0.1, 0.1]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["plain", "pruned"]
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("epoch", "validation accuracy")
    assert axis.yaxis.get_major_formatter()(0.5) == "50%"


def test_many_runs_differ_in_colour_or_line():
    curves = [AccuracyCurve(f"run {number}", (1,), (0.5,)) for number in range(20)]
    (axis,) = accuracy_curves(curves).axes
    assert len({(line.get_color(), line.get_linestyle()) for line in axis.lines}) == 20


@pytest.mark.parametrize(
    ("curves", "message"),
    [
        ([], "no curves"),
        ([AccuracyCurve("a", (1, 2), (0.5,))], "the curve of a has 1 accuracies for 2 epochs"),
        ([AccuracyCurve("a", (), ())], "at least one"),
    ],
)
def test_curves_that_cannot_be(curves, message):
    with pytest.raises(ValueError, match=message):
        accuracy_curves(curves)
