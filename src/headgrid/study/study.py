"""A study: a question, and the runs that answer it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from headgrid.experiments.experiment import Experiment


@dataclass(frozen=True)
class StudyRow:
    """One row of a study's table: an experiment, trained once for each seed."""

    group: str
    """Rows of one group are compared with each other."""
    variant: str
    """What this row has in the place that varies."""
    experiment: Experiment
    seeds: tuple[int, ...] = (0,)

    def runs(self) -> Iterator[Experiment]:
        for seed in self.seeds:
            yield replace(self.experiment, seed=seed)


@dataclass(frozen=True)
class Study:
    """A table of runs."""

    name: str
    question: str
    rows: tuple[StudyRow, ...]

    def __post_init__(self) -> None:
        titles = [run.title for run in self.runs()]
        assert len(set(titles)) == len(titles), "two runs of a study would share a folder"

    def runs(self) -> list[Experiment]:
        """All runs: those with the first seed of each row, then those with the second..."""
        most = max(len(row.seeds) for row in self.rows)
        by_row = [list(row.runs()) for row in self.rows]
        return [runs[number] for number in range(most) for runs in by_row if number < len(runs)]

    def groups(self) -> dict[str, list[StudyRow]]:
        """The rows that are compared with each other, by the name of their group."""
        groups: dict[str, list[StudyRow]] = {}
        for row in self.rows:
            groups.setdefault(row.group, []).append(row)
        return groups
