"""The accuracy of several runs, in one figure."""

from collections.abc import Sequence
from pathlib import Path

from headgrid.cli.figures.drawing import Drawing
from headgrid.cli.figures.subject import LeftOut, Subject
from headgrid.experiments import Experiment, experiment_of
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
    names = [subject.name for subject in subjects]
    curves, num_classes = [], set()
    for subject in subjects:
        assert subject.run is not None
        assert subject.experiment is not None
        rows = _rows(subject.run)
        curves.append(
            AccuracyCurve(
                name=subject.name if names.count(subject.name) == 1 else subject.word,
                epochs=[row["epoch"] for row in rows],
                accuracies=[row["validation_accuracy"] for row in rows],
                first_epoch=epochs_before(subject.experiment, subject.run.initial_weights_file),
            )
        )
        num_classes.add(subject.experiment.model.num_classes)
    chance = 1 / num_classes.pop() if len(num_classes) == 1 else None
    return Drawing("accuracy-curves", accuracy_curves(curves, chance=chance))


def epochs_before(experiment: Experiment, copy: Path | None = None) -> int:
    """How long the weights that a run begins with had been trained: a pruned model goes on (ICLR figure 7).

    The weights, of which the run keeps a ``copy``, know it: as a file of `headgrid prune`, or as a checkpoint of
    the earlier run. Where neither is left, the curve begins at 0, like that of any other run.
    """
    if experiment.initial_weights is None:
        return 0
    for file in (copy, experiment.initial_weights.file):
        earlier = experiment_of(file) if file is not None and file.is_file() else None
        if earlier is not None:
            return earlier.training.num_epochs + epochs_before(earlier)
    return 0


def _rows(run: RunFolder) -> list[Row]:
    """Of the epochs that were evaluated."""
    return [row for row in run.metrics() if row["validation_accuracy"] is not None]
