"""Training that goes on from stored weights."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

import headgrid
from headgrid.data import Embedded
from headgrid.experiments import (
    Experiment,
    StoredWeights,
    experiment_of,
    experiment_to_yaml,
    for_data,
    make_experiment,
    read_experiment,
    retraining,
    run,
    save_model,
)
from headgrid.models import ConvertedConfig, ResNetConfig
from headgrid.pruning import remove_heads
from headgrid.training import Interrupted, RunFolder, load_weights

SMALL = Embedded(num_train=200, num_validation=50, num_test=50)


@pytest.fixture
def recipe() -> Experiment:
    experiment = for_data(make_experiment("quadratic-generalized", "tiny"), SMALL)
    return replace(experiment, training=replace(experiment.training, num_epochs=6))


@pytest.fixture
def pruned(tmp_path: Path, recipe: Experiment) -> Path:
    """A file as `headgrid prune` writes it; the first layer has lost all its heads."""
    torch.manual_seed(0)
    removed = {"stack.blocks.0.attention": range(9), "stack.blocks.1.attention": (2, 7)}
    model = remove_heads(recipe.model.build(), removed)
    save_model(model, tmp_path / "pruned.safetensors", experiment=replace(recipe, model=model.config))
    return tmp_path / "pruned.safetensors"


def test_a_file_remembers_its_experiment(pruned: Path, recipe: Experiment):
    experiment = experiment_of(pruned)
    assert experiment is not None
    assert experiment.model.heads_per_layer == (0, 7)
    assert replace(experiment, model=recipe.model) == recipe
    assert headgrid.load(pruned).config == experiment.model


def test_the_papers_recipe(pruned: Path):
    """300 epochs at 0.1 become 100 at 0.01; in size laptop 12 at 0.03 become 4 at 0.003."""
    for size, num_epochs, rate in (("paper", 100, 0.01), ("laptop", 4, 0.003)):
        preset = make_experiment("quadratic-generalized", size)
        found = retraining(preset, pruned)
        assert found.training.num_epochs == num_epochs
        assert found.training.optimizer.learning_rate == pytest.approx(rate)
        optimizer = replace(preset.training.optimizer, learning_rate=found.training.optimizer.learning_rate)
        assert found.training == replace(preset.training, num_epochs=num_epochs, optimizer=optimizer)
        assert found.title == f"quadratic-generalized-retrained-{size}-seed0"


def test_it_begins_with_the_weights_and_can_do_without_the_file(tmp_path: Path, pruned: Path, stop_after):
    experiment = retraining(experiment_of(pruned), pruned)  # type: ignore[arg-type]
    assert experiment.initial_weights == StoredWeights.of(pruned)
    run(experiment, tmp_path / "whole", device="cpu")
    with pytest.raises(Interrupted):
        run(experiment, tmp_path / "stopped", device="cpu", writers=[stop_after(1)])
    first = load_weights(tmp_path / "stopped" / "initial.safetensors")
    assert all(torch.equal(first[name], tensor) for name, tensor in load_weights(pruned).items())
    rows = RunFolder(tmp_path / "whole").centers()
    centers = headgrid.load(pruned).stack.blocks[1].attention.score.terms[0].centers
    assert torch.equal(torch.tensor(rows[0]["stack.blocks.1.attention.centers"]), centers)

    pruned.unlink()
    stored = read_experiment(tmp_path / "stopped" / "experiment.yaml")
    assert stored == experiment
    run(stored, tmp_path / "stopped", device="cpu", resume=True)
    run(stored, tmp_path / "again", device="cpu", repeats=tmp_path / "whole")
    whole = load_weights(tmp_path / "whole", "last")
    for name in ("stopped", "again"):
        found = load_weights(tmp_path / name, "last")
        assert all(torch.equal(found[key], tensor) for key, tensor in whole.items())
    assert headgrid.load(tmp_path / "whole").config.heads_per_layer == (0, 7)
    with pytest.raises(ValueError, match="the weights that the experiment begins with are gone"):
        run(stored, tmp_path / "nowhere", device="cpu")
    assert not (tmp_path / "nowhere").exists()


def test_other_weights_under_the_name_are_refused(tmp_path: Path, pruned: Path):
    experiment = retraining(experiment_of(pruned), pruned)  # type: ignore[arg-type]
    save_model(headgrid.load(pruned), pruned)
    with pytest.raises(ValueError, match=r"pruned\.safetensors holds other weights than those that the experiment"):
        run(experiment, tmp_path / "run", device="cpu")


def test_going_on_a_second_time_keeps_the_proportion(tmp_path: Path, pruned: Path, recipe: Experiment):
    once = retraining(recipe, pruned)
    save_model(headgrid.load(pruned), tmp_path / "again.safetensors", experiment=once)
    twice = retraining(once, tmp_path / "again.safetensors")
    assert (twice.training, twice.name) == (once.training, once.name)
    assert once.training.num_epochs == 2
    assert twice.initial_weights == StoredWeights.of(tmp_path / "again.safetensors")


def test_it_comes_back_from_yaml(tmp_path: Path, pruned: Path, recipe: Experiment):
    experiment = retraining(recipe, pruned)
    (tmp_path / "experiment.yaml").write_text(experiment_to_yaml(experiment))
    assert read_experiment(tmp_path / "experiment.yaml") == experiment


def test_what_cannot_be_trained(tmp_path: Path, recipe: Experiment):
    converted = ConvertedConfig(ResNetConfig(blocks_per_stage=(1,), width=4)).build()
    save_model(converted, tmp_path / "converted.safetensors")
    with pytest.raises(ValueError, match="go on from the model itself"):
        retraining(recipe, tmp_path / "converted.safetensors")


def test_weights_that_do_not_fit(tmp_path: Path, pruned: Path, recipe: Experiment):
    experiment = retraining(recipe, pruned)
    wrong = replace(experiment, model=replace(experiment.model, heads_per_layer=(1, 7)))
    with pytest.raises(ValueError, match="does not fit the model"):
        run(wrong, tmp_path / "run", device="cpu")
