"""A preset: a published row of results, and the function that makes its experiment."""

from collections.abc import Callable
from dataclasses import dataclass

from headgrid.experiments.experiment import Experiment


@dataclass(frozen=True)
class Preset:
    """One row of a published table, under the name it has here."""

    make: Callable[[], Experiment]
    """Returns the complete experiment as published."""
    paper: str
    """Where the row is published."""
    accuracy: float | None
    """The published test accuracy; none where no number is given."""
    summary: str
    """What the row is, in a few words."""
    images: str = "CIFAR-10"
    """Which images that accuracy is about."""

    @property
    def name(self) -> str:
        return self.make().name
