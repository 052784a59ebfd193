"""The care of heads as part of an experiment: written, read, checked, and in the loss."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import yaml

from headgrid.data import Embedded
from headgrid.experiments import (
    Experiment,
    HeadCare,
    experiment_from_yaml,
    experiment_to_yaml,
    for_data,
    make_experiment,
    run,
)
from headgrid.pruning import HeadReset, SpreadPenalty
from headgrid.training import Interrupted, RunFolder, WeightAverage, load_weights

SMALL = Embedded(num_train=200, num_validation=50, num_test=50)
BOTH = HeadCare(SpreadPenalty(0.5), HeadReset(condition_number=1.01, every=2))


def generalized(heads: HeadCare, num_epochs: int = 3) -> Experiment:
    """Heads above a condition number of 1.01 are so many at the start that some are reset and some are not."""
    experiment = for_data(make_experiment("quadratic-generalized", "tiny"), SMALL)
    training = replace(experiment.training, num_epochs=num_epochs, batch_size=50, average=WeightAverage(0.9))
    return replace(experiment, training=training, heads=heads)


def test_it_comes_back_from_yaml():
    experiment = generalized(BOTH)
    text = experiment_to_yaml(experiment)
    assert experiment_from_yaml(text) == experiment
    assert yaml.safe_load(text)["heads"]["penalty"] == {"strength": 0.5}
    assert experiment_from_yaml(experiment_to_yaml(generalized(HeadCare()))).heads == HeadCare()
    with pytest.raises(ValueError, match=r"heads\.reset: heads can be reset after every epoch or every few"):
        experiment_from_yaml(text.replace("every: 2", "every: 0"))
    with pytest.raises(ValueError, match=r"unknown key heads\.penalty\.strenght: did you mean 'strength'"):
        experiment_from_yaml(text.replace("strength: 0.5", "strenght: 0.5"))


def without_care(text: str) -> str:
    """As an older version wrote it."""
    plain = yaml.safe_load(text)
    del plain["heads"], plain["initial_weights"]
    return yaml.safe_dump(plain, sort_keys=False)


def test_a_run_of_an_older_version_goes_on(tmp_path: Path, stop_after):
    experiment = generalized(HeadCare())
    with pytest.raises(Interrupted):
        run(experiment, tmp_path, device="cpu", writers=[stop_after(1)])
    file = RunFolder(tmp_path).experiment_file
    file.write_text(without_care(file.read_text()))
    assert experiment_from_yaml(file.read_text()) == experiment
    assert run(experiment, tmp_path, device="cpu", resume=True).num_epochs == 3
    assert "initial_weights" not in file.read_text()
    with pytest.raises(ValueError, match=r"holds another experiment: heads is '\(absent\)' there"):
        run(generalized(BOTH), tmp_path, device="cpu", resume=True)


def test_both_work_and_resume_is_exact(tmp_path: Path, stop_after):
    experiment = generalized(BOTH)
    run(experiment, tmp_path / "whole", device="cpu")
    run(generalized(HeadCare()), tmp_path / "without", device="cpu")
    with pytest.raises(Interrupted):
        run(experiment, tmp_path / "stopped", device="cpu", writers=[stop_after(2)])
    run(experiment, tmp_path / "stopped", device="cpu", resume=True)
    whole, stopped, without = (load_weights(tmp_path / name, "last") for name in ("whole", "stopped", "without"))
    assert all(torch.equal(stopped[name], tensor) for name, tensor in whole.items())
    spreads = [name for name in whole if name.endswith("spreads")]
    assert spreads
    assert all(not torch.equal(whole[name], without[name]) for name in spreads)
    events = [event for event in RunFolder(tmp_path / "whole").events() if event["event"] == "renew"]
    assert events[0]["step"] == 0
    assert {name.rsplit(".", 1)[1] for name in events[0]["rows"]} == {"centers", "spreads"}
    centers = RunFolder(tmp_path / "whole").centers()
    name = next(name for name in events[0]["rows"] if name.endswith("centers"))
    row = centers[0][name.replace(".score.terms.0", "")]
    after = centers[1][name.replace(".score.terms.0", "")]
    for head, (old, new) in enumerate(zip(row, after, strict=True)):
        moved = torch.dist(torch.tensor(old), torch.tensor(new)) > 0.5
        assert moved == (head in events[0]["rows"][name])


def test_a_strong_penalty_keeps_heads_round(tmp_path: Path):
    """From the same stretched start, with the penalty heads end rounder."""

    def mean_condition(heads: HeadCare, folder: Path) -> float:
        experiment = generalized(heads, num_epochs=2)
        experiment = replace(experiment, training=replace(experiment.training, average=None))
        run(experiment, folder, device="cpu")
        weights = load_weights(folder, "last")
        spreads = torch.cat([tensor for name, tensor in weights.items() if name.endswith("spreads")])
        return float(torch.linalg.cond(spreads).mean())

    with_penalty = mean_condition(HeadCare(penalty=SpreadPenalty(20.0)), tmp_path / "with")
    assert with_penalty < mean_condition(HeadCare(), tmp_path / "without")


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        (HeadCare(penalty=SpreadPenalty()), "the spread penalty is for generalized quadratic heads"),
        (HeadCare(reset=HeadReset()), "leave the reset of heads out"),
    ],
)
def test_models_without_gaussian_heads_are_refused(tmp_path: Path, heads: HeadCare, message: str):
    experiment = replace(for_data(make_experiment("resnet18", "tiny"), SMALL), heads=heads)
    with pytest.raises(ValueError, match=message):
        run(experiment, tmp_path / "run", device="cpu")
    assert not (tmp_path / "run").exists()
