"""A penalty in the loss, rows that begin anew, and weights to begin with."""

from pathlib import Path

import pytest
import torch

from headgrid.training import Interrupted, Processes, Progress, RunFolder, environment, load_weights
from headgrid.training.checkpoint import load_checkpoint, save_tensors, to_disk
from headgrid.training.step import Learner, renewal_seed

from .small import CONFIGS, SmallBatches, SmallModel, small_penalty, small_renew, train_small
from .test_loop import rows_without_time
from .test_resume import KillAtFileOperation, Stops, assert_same_runs, killer  # noqa: F401

CARE = {"penalty": small_penalty, "renew": small_renew}


def learner_after_one_step(config: str, penalty=None) -> Learner:
    learner = Learner(
        SmallModel(), CONFIGS[config], 3, torch.device("cpu"), Processes(), compile=False, penalty=penalty
    )
    images, labels = next(SmallBatches(8, 8).epoch(0))
    learner.model.train()
    learner.step(0, images, labels, 8, learning_rate=0.05)
    return learner


def test_the_penalty_is_in_the_gradient_and_not_in_the_loss():
    without, with_it = learner_after_one_step("plain"), learner_after_one_step("plain", small_penalty)
    assert with_it.sums() == without.sums()
    start = SmallModel().centers.detach()
    expected = 0.2 * 2 * (start - 1) / start.numel()
    found = with_it.parameters["centers"].grad - without.parameters["centers"].grad
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-7)
    for name, parameter in without.parameters.items():
        if name != "centers":
            assert torch.equal(parameter, with_it.parameters[name])


@pytest.mark.parametrize("config", ["plain", "average"])
def test_what_begins_anew_has_no_past(config: str):
    """Neither in the optimizer nor in the average; other rows keep theirs."""
    learner = learner_after_one_step(config)
    centers = learner.parameters["centers"]
    state = {key: value.clone() for key, value in learner.optimizer.state[centers].items() if value.dim() == 2}
    assert state
    assert all((value != 0).all() for value in state.values())
    before = centers.detach().clone()
    learner.set_rows({"centers": {2: torch.full((8,), 3.0), 5: torch.full((8,), 4.0)}})
    for row in range(7):
        new = {2: 3.0, 5: 4.0}.get(row)
        assert torch.equal(centers[row], before[row] if new is None else torch.full((8,), new))
        for key, value in state.items():
            now = learner.optimizer.state[centers][key][row]
            assert torch.equal(now, torch.zeros(8) if new is not None else value[row])
        if learner.average is not None and new is not None:
            assert torch.equal(learner.average.state["centers"][row], torch.full((8,), new))
    if learner.average is not None:
        assert not torch.equal(learner.average.state["centers"][0], centers[0])


def test_rows_begin_anew_before_the_epoch_and_the_run_says_so(tmp_path: Path):
    said = []

    class Ear(Progress):
        def say(self, text: str) -> None:
            said.append(text)

    train_small(tmp_path, CONFIGS["plain"], renew=small_renew, progress=Ear())
    events = [event for event in RunFolder(tmp_path).events() if event["event"] == "renew"]
    assert {event["step"] for event in events} <= {0, 14}
    assert events[0]["rows"]["centers"] == [row for row in range(7) if SmallModel().centers[row, 0] < 0]
    rows = ", ".join(map(str, events[0]["rows"]["centers"]))
    assert f"before epoch 1, rows of parameters begin anew: centers {rows}" in said
    assert renewal_seed(3, 0) != renewal_seed(3, 2) != renewal_seed(4, 2)


@pytest.mark.parametrize("config", CONFIGS)
def test_stopped_again_and_again_with_both(tmp_path: Path, config: str):
    """Bit by bit the training that was not stopped."""
    train_small(tmp_path / "whole", CONFIGS[config], **CARE)
    train_small(tmp_path / "without", CONFIGS[config])
    assert rows_without_time(tmp_path / "whole") != rows_without_time(tmp_path / "without")
    folder = tmp_path / "stopped"
    for number in range(40):
        try:
            Stops(at=number % 5 + 1).train(folder, CONFIGS[config], resume=number > 0, **CARE)
            break
        except Interrupted:
            pass
    assert 5 < number < 39
    assert_same_runs(folder, tmp_path / "whole")


@pytest.fixture
def initial(tmp_path: Path) -> Path:
    file = tmp_path / "weights of before.safetensors"
    save_tensors(file, to_disk(SmallModel(seed=7).state_dict()), {})
    return file


def test_the_run_keeps_what_it_began_with(tmp_path: Path, initial: Path):
    run = RunFolder(tmp_path / "run")
    with pytest.raises(Interrupted):
        Stops(at=2).train(run.path, CONFIGS["plain"], resume=False, initial_weights=initial)
    assert run.initial_weights_file.read_bytes() == initial.read_bytes()
    before = run.initial_weights_file.stat()
    train_small(run.path, CONFIGS["plain"], resume=True, initial_weights=run.initial_weights_file)
    assert run.initial_weights_file.stat() == before
    assert load_checkpoint(run.checkpoints, "last") is not None
    assert not load_weights(run.path)["centers"].equal(load_weights(initial)["centers"])


def test_killed_while_the_copy_is_made(
    tmp_path: Path,
    initial: Path,
    killer: KillAtFileOperation,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(environment, "_commit", lambda: None)
    for number in range(12):
        folder = tmp_path / str(number)
        assert not killer.run(folder, at=number, initial_weights=initial)
        copy = folder / "initial.safetensors"
        source = copy if copy.exists() else initial
        train_small(folder, CONFIGS["plain"], resume=True, initial_weights=source)
        assert copy.read_bytes() == initial.read_bytes()
        assert not list(folder.rglob("*.tmp"))
