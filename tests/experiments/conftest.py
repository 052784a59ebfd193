"""One short training, for all tests that need a finished run."""

from dataclasses import replace
from pathlib import Path

import pytest

from headgrid.data import Embedded
from headgrid.experiments import Experiment, make_experiment, run, shorten


@pytest.fixture(scope="session")
def tiny_experiment() -> Experiment:
    experiment = shorten(make_experiment("resnet18", "tiny"), 2)
    return replace(experiment, data=Embedded(num_train=200, num_validation=50, num_test=60))


@pytest.fixture(scope="session")
def tiny_run(tiny_experiment: Experiment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    run(tiny_experiment, folder, device="cpu")
    return folder
