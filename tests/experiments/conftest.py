"""One short training, for all tests that need a finished run."""

from dataclasses import replace
from pathlib import Path

import pytest

from headgrid.data import Embedded
from headgrid.experiments import Experiment, make_experiment, run, shorten
from headgrid.training import Interrupted


@pytest.fixture(scope="session")
def tiny_experiment() -> Experiment:
    experiment = shorten(make_experiment("resnet18", "tiny"), 2)
    return replace(experiment, data=Embedded(num_train=200, num_validation=50, num_test=60))


@pytest.fixture(scope="session")
def tiny_run(tiny_experiment: Experiment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    run(tiny_experiment, folder, device="cpu")
    return folder


class Stop:
    """Ends a training after so many rows of metrics."""

    def __init__(self, after: int) -> None:
        self.left = after

    def start(self, folder: Path, experiment: str, step: int) -> None:
        pass

    def write(self, row) -> None:
        self.left -= 1
        if self.left == 0:
            raise Interrupted("enough", Path(), row["step"])

    def close(self) -> None:
        pass


@pytest.fixture
def stop_after() -> type[Stop]:
    """A writer that does so: `run(..., writers=[stop_after(1)])`."""
    return Stop
