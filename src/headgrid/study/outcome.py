"""What came out of the rows of a study, as far as their runs are finished."""

from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev

from headgrid.experiments import Experiment, experiment_from_yaml
from headgrid.study.study import Study, StudyRow
from headgrid.training import RunFolder, TrainingResult


@dataclass(frozen=True)
class Outcome:
    """The finished runs of one row."""

    row: StudyRow
    results: tuple[TrainingResult, ...]
    """One for each seed whose run is finished."""

    @property
    def test_accuracies(self) -> tuple[float, ...]:
        return tuple(result.test_accuracy for result in self.results if result.test_accuracy is not None)

    @property
    def mean(self) -> float | None:
        """Mean test accuracy over the seeds."""
        return mean(self.test_accuracies) if self.test_accuracies else None

    @property
    def deviation(self) -> float | None:
        """Standard deviation of the test accuracy over the seeds; none where there is only one."""
        return stdev(self.test_accuracies) if len(self.test_accuracies) > 1 else None

    @property
    def num_parameters(self) -> int | None:
        return self.results[0].num_parameters if self.results else None


def outcomes(study: Study, runs: Path) -> list[Outcome]:
    """The rows of the study in its order, with the results in the run folders under ``runs``."""
    found = []
    for row in study.rows:
        results = (_result(run, runs / run.title) for run in row.runs())
        found.append(Outcome(row, tuple(result for result in results if result is not None)))
    return found


def _result(experiment: Experiment, folder: Path) -> TrainingResult | None:
    """None if the run is not finished; an error if another experiment was run in its folder."""
    run = RunFolder(folder)
    stored = run.result()
    if stored is None:
        return None
    if experiment_from_yaml(run.experiment(), str(run.experiment_file)) != experiment:
        raise ValueError(
            f"{folder} holds another experiment than the study's run of that name: name another folder with "
            f"--runs, or remove it"
        )
    return TrainingResult.from_json(stored)
