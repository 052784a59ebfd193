"""The accuracy of several runs, in one figure."""

from collections.abc import Sequence

from headgrid.cli.figures.drawing import Drawing
from headgrid.cli.figures.subject import LeftOut, Subject
from headgrid.figures.accuracy_curves import AccuracyCurve, accuracy_curves
from headgrid.training import RunFolder
from headgrid.training.files import Row


def check_curve(subject: Subject) -> None:
    """Raises `LeftOut` where there is nothing to draw."""
    if subject.run is None:
        raise LeftOut("only a run folder has accuracies over the epochs")
    if not _rows(subject.run):
        raise LeftOut("no epoch of it has measured the accuracy on validation images")


def draw_accuracy_curves(subjects: Sequence[Subject]) -> Drawing:
    """Accuracy on the validation images; guessing is marked where all runs tell as many classes apart."""
    num_classes = {subject.experiment.model.num_classes for subject in subjects if subject.experiment is not None}
    chance = 1 / num_classes.pop() if len(num_classes) == 1 else None
    names = [subject.name for subject in subjects]
    unique = len(set(names)) == len(names)
    curves = []
    for subject in subjects:
        assert subject.run is not None
        rows = _rows(subject.run)
        epochs, accuracies = [row["epoch"] for row in rows], [row["validation_accuracy"] for row in rows]
        curves.append(AccuracyCurve(subject.name if unique else subject.word, epochs, accuracies))
    return Drawing("accuracy-curves", accuracy_curves(curves, chance=chance))


def _rows(run: RunFolder) -> list[Row]:
    """Of the epochs that were evaluated."""
    return [row for row in run.metrics() if row["validation_accuracy"] is not None]
