import math

import pytest

from headgrid.training import Constant, Cosine, MultiStep


def factors(schedule, num_steps: int, steps_per_epoch: int = 10) -> list[float]:
    return [schedule.rate_factor(step, num_steps, steps_per_epoch) for step in range(num_steps)]


def test_cosine_warms_up_in_steps_and_falls_to_zero():
    found = factors(Cosine(warmup_steps=4), 24)
    assert found[:5] == [0.25, 0.5, 0.75, 1.0, 1.0]
    assert found[4:] == sorted(found[4:], reverse=True)
    assert found[14] == pytest.approx(0.5)
    assert found[-1] == pytest.approx(0.5 * (1 + math.cos(math.pi * 19 / 20)))
    assert Cosine(warmup_steps=4).rate_factor(24, 24, 10) == pytest.approx(0, abs=1e-12)


def test_warmup_is_a_share_of_all_steps():
    assert factors(Cosine(warmup_fraction=0.1), 100) == factors(Cosine(warmup_steps=10), 100)
    assert factors(Cosine(warmup_fraction=0.0), 10)[0] == 1.0
    assert factors(Cosine(warmup_steps=0), 10)[0] == 1.0


def test_a_training_may_be_all_warmup():
    assert factors(Cosine(warmup_steps=5), 5) == [0.2, 0.4, 0.6, 0.8, 1.0]


def test_warmup_longer_than_the_training_is_refused():
    with pytest.raises(ValueError, match="warm-up of 11 steps does not fit into a training of 10"):
        factors(Cosine(warmup_steps=11), 10)


def test_multistep_changes_when_its_epochs_begin():
    found = factors(MultiStep(epochs=(2, 3), factor=0.5), 40)
    assert found == [1.0] * 20 + [0.5] * 10 + [0.25] * 10
    assert factors(MultiStep(epochs=()), 5) == [1.0] * 5


def test_constant():
    assert set(factors(Constant(), 30)) == {1.0}


@pytest.mark.parametrize(
    "make",
    [
        lambda: Cosine(warmup_fraction=1.0),
        lambda: Cosine(warmup_fraction=-0.1),
        lambda: Cosine(warmup_steps=-1),
        lambda: MultiStep(epochs=(5, 3)),
        lambda: MultiStep(epochs=(3, 3)),
        lambda: MultiStep(epochs=(-1,)),
        lambda: MultiStep(factor=0.0),
    ],
)
def test_impossible_schedules_are_refused(make):
    with pytest.raises(ValueError, match="must"):
        make()
