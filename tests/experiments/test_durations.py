from dataclasses import replace
from pathlib import Path

import pytest

from headgrid.data import Cifar10
from headgrid.experiments import durations, make_experiment, shorten
from headgrid.experiments.durations import SECONDS_PER_EPOCH, expected_seconds
from headgrid.experiments.presets import PRESETS
from headgrid.experiments.sizes import SIZES


@pytest.fixture(autouse=True)
def _measured(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        durations, "SECONDS_PER_EPOCH", {("quadratic", "laptop"): {"bfloat16": 60.0, "float32": 150.0}}
    )


def test_epochs_times_seconds_in_each_precision():
    experiment = make_experiment("quadratic", "laptop")
    num_epochs = experiment.training.num_epochs
    assert expected_seconds(experiment) == {"bfloat16": 60.0 * num_epochs, "float32": 150.0 * num_epochs}
    assert expected_seconds(shorten(experiment, 2)) == {"bfloat16": 120.0, "float32": 300.0}
    elsewhere = replace(experiment, seed=3, data=Cifar10(directory=Path("elsewhere")))
    assert expected_seconds(elsewhere) == expected_seconds(experiment)


def test_nothing_is_said_about_what_was_not_measured():
    experiment = make_experiment("quadratic", "laptop")
    assert expected_seconds(make_experiment("quadratic")) == {}
    assert expected_seconds(replace(experiment, name="mine")) == {}
    assert expected_seconds(replace(experiment, model=replace(experiment.model, num_classes=9))) == {}
    assert expected_seconds(replace(experiment, training=replace(experiment.training, batch_size=9))) == {}


def test_the_table_names_presets_and_sizes():
    for (name, size), seconds in SECONDS_PER_EPOCH.items():
        assert name in PRESETS
        assert size in SIZES
        assert all(value > 0 for value in seconds.values())
