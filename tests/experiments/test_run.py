import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from headgrid.data import Cifar100, Embedded
from headgrid.experiments import (
    Experiment,
    check_fits,
    initial_model,
    make_experiment,
    read_experiment,
    run,
    shorten,
)
from headgrid.training import RunFolder, TrainingResult


def test_a_run_folder_tells_everything(tiny_run: Path, tiny_experiment: Experiment):
    folder = RunFolder(tiny_run)
    assert read_experiment(folder.experiment_file) == tiny_experiment
    assert [row["epoch"] for row in folder.metrics()] == [1, 2]
    result = folder.result()
    assert result is not None
    assert result["num_epochs"] == 2
    assert result["test"]["num_images"] == 60
    assert folder.centers() == []


def test_a_finished_run_gives_its_result_again(tiny_run: Path, tiny_experiment: Experiment):
    again = run(tiny_experiment, tiny_run, resume=True, device="cpu")
    assert isinstance(again, TrainingResult)
    assert RunFolder(tiny_run).result() == json.loads(json.dumps(again.to_json()))


@pytest.fixture
def quick() -> Experiment:
    experiment = shorten(make_experiment("quadratic", "tiny"), 2)
    return replace(experiment, data=Embedded(num_train=20, num_validation=20, num_test=0))


def test_centers_of_quadratic_heads_are_kept_from_the_start_on(quick: Experiment, tmp_path: Path):
    result = run(quick, tmp_path / "run", device="cpu")
    assert result.test is None
    rows = RunFolder(tmp_path / "run").centers()
    assert [row["epoch"] for row in rows] == [0, 1, 2]
    start = initial_model(quick)
    layer = "stack.blocks.1.attention"
    at_start = dict(start.named_parameters())[f"{layer}.score.terms.0.centers"]
    assert rows[0][f"{layer}.centers"] == at_start.tolist()
    assert rows[2][f"{layer}.centers"] != rows[0][f"{layer}.centers"]


def test_without_validation_images_the_last_epoch_counts(quick: Experiment, tmp_path: Path):
    data = Embedded(num_train=20, num_validation=0, num_test=20)
    result = run(replace(quick, data=data), tmp_path / "run", device="cpu")
    assert result.selected_by == "last epoch"
    assert result.test is not None


def test_the_seed_decides_the_weights_and_nothing_else_is_drawn(quick: Experiment):
    state = torch.get_rng_state()
    first, second, other = (initial_model(replace(quick, seed=seed)) for seed in (3, 3, 4))
    assert torch.equal(state, torch.get_rng_state())
    assert torch.equal(first.embedding.weight, second.embedding.weight)  # type: ignore[union-attr]
    assert not torch.equal(first.embedding.weight, other.embedding.weight)  # type: ignore[union-attr]


def test_a_model_for_other_images_is_refused_before_they_are_loaded(quick: Experiment, tmp_path: Path):
    with pytest.raises(ValueError, match="made for num_classes 10 and the images of cifar100 have 100"):
        run(replace(quick, data=Cifar100(directory=tmp_path)), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    with pytest.raises(ValueError, match="image_size"):
        check_fits(replace(quick.model, image_size=(16, 32)), quick.data)


def test_titles_and_seeds(quick: Experiment):
    assert replace(quick, seed=7).title == "quadratic-tiny-seed7"
    with pytest.raises(ValueError, match="seed must not be negative"):
        replace(quick, seed=-1)
