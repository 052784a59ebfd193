import inspect
from dataclasses import fields

import pytest
import tyro

from headgrid.training import SGD, AdamW, Constant, Cosine, MultiStep, TrainingConfig, WeightAverage


@pytest.mark.parametrize(
    "change",
    [
        {"num_epochs": 0},
        {"batch_size": 0},
        {"evaluate_every": 0},
        {"evaluation_batch_size": 0},
        {"checkpoint_every": -1},
        {"save_minutes": -0.1},
        {"label_smoothing": 1.0},
        {"gradient_clip": 0.0},
    ],
)
def test_impossible_values_are_refused_by_name(change):
    with pytest.raises(ValueError, match=f"{next(iter(change))} must"):
        TrainingConfig(**{"num_epochs": 1, "batch_size": 1, **change})


def test_the_last_epoch_is_always_evaluated():
    config = TrainingConfig(num_epochs=7, batch_size=1, evaluate_every=3, checkpoint_every=2)
    assert [epoch for epoch in range(1, 8) if config.evaluates(epoch)] == [3, 6, 7]
    assert [epoch for epoch in range(1, 8) if config.keeps(epoch)] == [2, 4, 6]
    assert not any(TrainingConfig(num_epochs=7, batch_size=1).keeps(epoch) for epoch in range(8))


def test_the_command_line_can_choose_every_part():
    arguments = "--num-epochs 3 --batch-size 5 --gradient-clip 1 optimizer:adam-w --optimizer.epsilon 1e-7"
    arguments += " schedule:constant average:weight-average --average.decay 0.9"
    found = tyro.cli(TrainingConfig, args=arguments.split())
    assert found == TrainingConfig(
        num_epochs=3,
        batch_size=5,
        gradient_clip=1.0,
        optimizer=AdamW(epsilon=1e-7),
        schedule=Constant(),
        average=WeightAverage(0.9),
    )


@pytest.mark.parametrize("kind", [TrainingConfig, SGD, AdamW, WeightAverage, Cosine, MultiStep])
def test_every_field_has_a_line_of_help(kind):
    """The line under a field is what tyro shows; here it must be in the source, directly below."""
    lines = inspect.getsource(kind).splitlines()
    for field in fields(kind):
        place = next(i for i, line in enumerate(lines) if line.startswith(f"    {field.name}: "))
        assert lines[place + 1].lstrip().startswith('"""'), field.name
