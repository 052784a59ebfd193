import json

import pytest

from headgrid.training.state import TrainingState


def test_counts_steps_and_time():
    state = TrainingState(seed=0, num_processes=1, steps_per_epoch=10)
    state.batch = 4
    state.spend(2.0, training=True)
    state.spend(1.0, training=False)
    assert (state.step, state.epoch_seconds, state.epoch_training_seconds) == (4, 3.0, 2.0)
    state.finish_epoch(num_images=100)
    assert (state.step, state.epoch, state.batch, state.epoch_seconds) == (10, 1, 0, 0.0)
    assert state.images_per_second == 50.0
    assert state.seconds == 3.0


def test_comes_back_exactly():
    state = TrainingState(0, 2, 10, epoch=3, batch=4, sums=[[0.1 + 0.2, 3.0, 4.0], [1 / 3, 0.0, 4.0]])
    state.best_epoch, state.best_accuracy = 2, 2 / 3
    stored = json.loads(json.dumps(state.to_json()))
    assert stored["step"] == 34
    assert TrainingState(0, 2, 10).go_on(stored) == state


@pytest.mark.parametrize("change", [{"seed": 1}, {"num_processes": 3}, {"steps_per_epoch": 11}])
def test_another_training_is_refused(change: dict):
    given = {"seed": 0, "num_processes": 2, "steps_per_epoch": 10}
    stored = TrainingState(**given).to_json()
    with pytest.raises(ValueError, match=f"the run was started .* {given[next(iter(change))]}, not "):
        TrainingState(**{**given, **change}).go_on(stored)
