from pathlib import Path

import pytest

from headgrid.experiments import experiment_of, load, read_experiment, save_model
from headgrid.pruning import HeadReset, SpreadPenalty

from .conftest import SHORT, Headgrid


def test_on_from_a_run_or_a_checkpoint(headgrid: Headgrid, trained: Path, tmp_path: Path):
    checkpoint = trained / "checkpoints" / "last.safetensors"
    for number, start in enumerate((trained, checkpoint)):
        ended = headgrid("train", "--from", start, "--run", str(number), "--device", "cpu")
        assert ended.code == 0, ended.err
        experiment, base = experiment_of(tmp_path / str(number)), experiment_of(trained)
        assert experiment is not None
        assert base is not None
        assert experiment.name == "resnet18-retrained"
        assert experiment.training.num_epochs == 1
        rate = base.training.optimizer.learning_rate
        assert experiment.training.optimizer.learning_rate == pytest.approx(rate / 10)
    assert (tmp_path / "1" / "initial.safetensors").read_bytes() == checkpoint.read_bytes()


def test_a_file_of_weights_takes_the_recipe_of_a_preset(headgrid: Headgrid, trained: Path, tmp_path: Path):
    save_model(load(trained), "model.safetensors")
    ended = headgrid("train", "--from", "model.safetensors")
    assert ended.code == 2
    assert "model.safetensors does not say how its model was trained: name a preset" in ended.err
    assert not (tmp_path / "runs").exists()
    words = ("--training.optimizer.learning-rate", "0.5", "--epochs", "1", *SHORT)
    ended = headgrid("train", "resnet18", "--size", "tiny", "--from", "model.safetensors", *words)
    assert ended.code == 0, ended.err
    experiment = experiment_of(tmp_path / "runs" / "resnet18-retrained-tiny-seed0")
    assert experiment is not None
    assert experiment.training.optimizer.learning_rate == 0.5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--from", "nothing"), "nothing does not exist: expected a run folder or a .safetensors file"),
        (("--from", "RUN", "--config", "x.yaml"), "--config names a whole experiment, with the weights"),
        (("--from", "RUN", "--size", "tiny"), "--size belongs to a preset"),
        (("--from", "RUN", "--model.width", "7"), "does not fit the model"),
        (("--from", "RUN", "--data", "cifar100"), "does not fit the model"),
        (("--from", "words.safetensors"), "words.safetensors is no intact safetensors file"),
    ],
)
def test_mistakes(headgrid: Headgrid, trained: Path, tmp_path: Path, words: tuple[str, ...], message: str):
    Path("words.safetensors").write_text("no weights")
    ended = headgrid("train", *(str(trained) if word == "RUN" else word for word in words), "--device", "cpu")
    assert ended.code == 2
    assert message in ended.err
    assert not (tmp_path / "runs").exists()


def test_the_help_shows_the_fields_of_what_goes_on(headgrid: Headgrid, trained: Path):
    ended = headgrid("train", "--from", trained, "--help")
    assert ended.code == 0
    assert "--training.optimizer.learning-rate" in ended.out
    assert "--from" in headgrid("train", "--help").out


def test_the_care_of_heads_is_chosen_by_kind(headgrid: Headgrid, tmp_path: Path):
    care = ("--heads.penalty.kind", "spread-penalty", "--heads.penalty.strength", "0.5")
    care = (*care, "--heads.reset.kind", "head-reset", "--heads.reset.condition-number", "1.01")
    words = ("quadratic-generalized", "--size", "tiny", "--epochs", "1", *care)
    (tmp_path / "mine.yaml").write_text(headgrid("show", *words).out)
    heads = read_experiment(tmp_path / "mine.yaml").heads
    assert heads.penalty == SpreadPenalty(0.5)
    assert heads.reset == HeadReset(condition_number=1.01)
    ended = headgrid("train", *words, *SHORT, "--run", "run")
    assert ended.code == 0, ended.err
    assert "before epoch 1, rows of parameters begin anew: stack.blocks.0.attention.score" in ended.err
    ended = headgrid("train", "resnet18", "--size", "tiny", *SHORT, "--heads.reset.kind", "head-reset")
    assert ended.code == 2
    assert "leave the reset of heads out" in ended.err
