"""An ablation: a table whose rows are one experiment with one thing varied."""

from dataclasses import dataclass

from headgrid.experiments.experiment import Experiment
from headgrid.experiments.preset import Preset


@dataclass(frozen=True)
class Published:
    """What a paper prints beside a row, to its last digit."""

    top_1: float
    """Share of the images whose class is the model's first guess."""
    top_5: float
    """Share of the images whose class is among the model's first five guesses."""
    mega_parameters: float
    """Parameters in millions."""
    giga_flops: float
    """FLOPs in billions, under the paper's own convention."""


@dataclass(frozen=True)
class AblationRow:
    """One row: a complete experiment, in what it differs from the other rows, and what is known about it."""

    experiment: Experiment
    """The experiment in size paper. Its name is that of a preset."""
    network: str
    """The network that all rows of a group share."""
    variant: str
    """What this row has in the place that varies."""
    published: Published | None = None
    """The row as published; none where only our numbers will stand."""

    @property
    def name(self) -> str:
        return self.experiment.name

    def make(self) -> Experiment:
        return self.experiment


@dataclass(frozen=True)
class Ablation:
    """A table of experiments that differ in one thing."""

    name: str
    varies: str
    """What differs between the rows."""
    source: str
    """Where the table stands, or that it is ours."""
    images: str
    """Which images the published numbers are about."""
    rows: tuple[AblationRow, ...]

    def preset(self, row: AblationRow) -> Preset:
        """The row as a preset, so that it is trained by name."""
        accuracy = None if row.published is None else row.published.top_1
        return Preset(row.make, self.source, accuracy, f"{row.network}, {row.variant}", self.images)
