"""A training that was stopped anywhere and resumed is the training that was not stopped, bit by bit."""

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from headgrid.training import (
    SGD,
    Interrupted,
    Processes,
    Progress,
    RunFolder,
    TrainingConfig,
    environment,
    load_weights,
)
from headgrid.training.checkpoint import load_checkpoint
from headgrid.training.step import Learner

from .small import CONFIGS, SmallBatches, SmallModel, train_small
from .test_loop import rows_without_time

TESTS = Path(__file__).parents[1]
TINY = TrainingConfig(num_epochs=3, batch_size=25, checkpoint_every=2, optimizer=SGD(learning_rate=0.05))


def assert_same_runs(folder: Path, reference: Path) -> None:
    """Metrics, centers, result and every checkpoint; only time may differ."""
    run, expected = RunFolder(folder), RunFolder(reference)
    assert rows_without_time(folder) == rows_without_time(reference)
    assert run.centers_file.read_bytes() == expected.centers_file.read_bytes()
    names = sorted(path.name for path in expected.checkpoints.iterdir())
    assert sorted(path.name for path in run.checkpoints.iterdir()) == names
    for name in names:
        if name.endswith(".state.safetensors"):
            found, wanted = load_weights(run.checkpoints / name), load_weights(expected.checkpoints / name)
            assert found.keys() == wanted.keys()
            assert all(torch.equal(found[key], wanted[key]) for key in wanted)
        else:
            assert (run.checkpoints / name).read_bytes() == (expected.checkpoints / name).read_bytes(), name
    result, wanted = run.result(), expected.result()
    assert result is not None
    assert wanted is not None
    for key in ("seconds", "images_per_second"):
        del result[key], wanted[key]
    assert result == wanted
    assert not list(folder.rglob("*.tmp"))


class Stops:
    """Presses Ctrl-C while the batch with this number is fetched, counting training and validation together."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.count = 0

    def batches(self, *arguments, **options) -> SmallBatches:
        stops = self

        class Counted(SmallBatches):
            def epoch(self, epoch: int, first_batch: int = 0):
                for batch in super().epoch(epoch, first_batch):
                    if stops.count == stops.at:
                        os.kill(os.getpid(), signal.SIGINT)
                    stops.count += 1
                    yield batch

        return Counted(*arguments, **options)

    def train(self, folder: Path, config: TrainingConfig, resume: bool, **options) -> None:
        train_small(
            folder,
            config,
            resume=resume,
            training_batches=self.batches(50, config.batch_size),
            validation_batches=self.batches(31, 7, seed=1, augment=False),
            test_batches=lambda: self.batches(30, 7, seed=2, augment=False),
            **options,
        )


@pytest.mark.parametrize("config", CONFIGS)
def test_stopped_with_ctrl_c_again_and_again(tmp_path: Path, config: str):
    """In steps, in validations, in the final test; every few batches, so that one run is resumed many times."""
    train_small(tmp_path / "whole", CONFIGS[config])
    folder = tmp_path / "stopped"
    for number in range(40):
        try:
            Stops(at=number % 5 + 1).train(folder, CONFIGS[config], resume=number > 0)
            break
        except Interrupted:
            assert RunFolder(folder).events()[-1]["event"] == "interrupt"
    assert 5 < number < 39
    assert_same_runs(folder, tmp_path / "whole")
    events = [event["event"] for event in RunFolder(folder).events()]
    assert events == ["start", *["interrupt", "resume"] * number, "finish"]


class Killed(BaseException):
    """Nothing in the program catches this: as good as a kill."""


class KillAtFileOperation:
    """Ends the program before its n-th change to the files of a folder, and lets nothing be changed after it."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.remaining = 0
        sys.addaudithook(self)

    def __call__(self, event: str, arguments: tuple) -> None:
        if self.folder is None or event not in ("open", "os.rename", "os.remove", "os.mkdir"):
            return
        path, mode = arguments[0], arguments[1]
        if not str(path).startswith(str(self.folder)) or (event == "open" and (mode is None or mode[0] == "r")):
            return
        self.remaining -= 1
        if self.remaining < 0:
            raise Killed

    def run(self, folder: Path, at: int, **options) -> bool:
        """Whether the training came to its end."""
        self.folder, self.remaining = folder, at
        try:
            train_small(folder, TINY, **options)
            return True
        except Killed:
            return False
        finally:
            self.folder = None


@pytest.fixture(scope="module")
def killer() -> KillAtFileOperation:
    """Audit hooks stay until the process ends, so one serves all tests; without a folder it does nothing."""
    return KillAtFileOperation()


@pytest.fixture
def without_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of trainings need not ask for their commit."""
    monkeypatch.setattr(environment, "_commit", lambda: None)


@pytest.mark.usefixtures("without_git")
def test_killed_before_every_single_file_operation(tmp_path: Path, killer: KillAtFileOperation):
    train_small(tmp_path / "whole", TINY)
    number = 0
    while not killer.run(tmp_path / str(number), at=number):
        train_small(tmp_path / str(number), TINY, resume=True)
        assert_same_runs(tmp_path / str(number), tmp_path / "whole")
        number += 1
    assert number > 40


@pytest.mark.usefixtures("without_git")
def test_killed_again_and_again_at_file_operations(tmp_path: Path, killer: KillAtFileOperation):
    train_small(tmp_path / "whole", TINY)
    for seed in range(3):
        chance = random.Random(seed)
        folder = tmp_path / str(seed)
        for _ in range(100):
            if killer.run(folder, at=chance.randrange(5, 40), resume=True):
                break
        assert_same_runs(folder, tmp_path / "whole")


def start(folder: Path, *options: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "training.small", str(folder), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=TESTS)


def run_and_kill(folder: Path, after: float, *options: str) -> int:
    process = start(folder, *options)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "training\n"
        time.sleep(after)
        process.kill()
        process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    return process.returncode


def kill_and_compare(tmp_path: Path, config: str, moments: list[float]) -> None:
    """Real processes, killed while they train."""
    folder = tmp_path / "killed"
    slowly = ["--config", config, "--resume", "--seconds-per-batch", "0.05"]
    for moment in moments:
        assert run_and_kill(folder, moment, *slowly) in (-signal.SIGKILL, 0)
    assert start(folder, "--config", config, "--resume").wait() == 0
    assert_same_runs(folder, tmp_path / "whole")


def test_killed_at_a_random_moment(tmp_path: Path):
    train_small(tmp_path / "whole", CONFIGS["average"])
    kill_and_compare(tmp_path, "average", [random.uniform(0.2, 2.0)])


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("attempt", range(4))
def test_killed_at_many_random_moments(tmp_path: Path, config: str, attempt: int, monkeypatch: pytest.MonkeyPatch):
    """On two threads."""
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert start(tmp_path / "whole", "--config", config).wait() == 0
    kill_and_compare(tmp_path, config, [random.uniform(0.0, 1.5) for _ in range(4)])


def test_a_finished_run_gives_its_result_again(tmp_path: Path):
    first = train_small(tmp_path, TINY)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")}
    said = []

    class Ear(Progress):
        def say(self, text: str) -> None:
            said.append(text)

    assert train_small(tmp_path, TINY, resume=True, progress=Ear()) == first
    assert said[0].startswith(f"{tmp_path} is finished already: test accuracy ")
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")}


def test_resume_needs_the_same_training(tmp_path: Path):
    with pytest.raises(Interrupted):
        Stops(at=2).train(tmp_path, TINY, resume=False)
    with pytest.raises(ValueError, match="started with the seed 3, not 4"):
        train_small(tmp_path, TINY, resume=True, seed=4)
    with pytest.raises(ValueError, match="with this number of steps per epoch: 2, not 7"):
        train_small(tmp_path, replace(TINY, batch_size=8), resume=True)
    with pytest.raises(ValueError, match=r"name is 'small' there and 'other' now"):
        train_small(tmp_path, TINY, resume=True, experiment="name: other\n")
    with pytest.raises(ValueError, match=r"does not fit the model: 'head.weight' has the shape \[3, 8\] there"):
        train_small(tmp_path, TINY, resume=True, model=SmallModel(num_classes=5), num_classes=5)
    with pytest.raises(ValueError, match=r"does not fit the model: the model has no 'norm\."):
        train_small(tmp_path, TINY, resume=True, norm=False)
    with pytest.raises(ValueError, match="is not empty"):
        train_small(tmp_path, TINY)


def test_the_state_of_the_optimizer_lies_in_memory_as_it_did(tmp_path: Path):
    """Sums over memory in another order could round differently."""
    with pytest.raises(Interrupted):
        Stops(at=2).train(tmp_path, TINY, resume=False)
    checkpoint = load_checkpoint(tmp_path / "checkpoints", "last")
    assert checkpoint is not None
    model = SmallModel()
    learner = Learner(model, TINY, 3, torch.device("cpu"), Processes(), compile=False)
    learner.load(checkpoint)
    momentum = learner.optimizer.state[model.convolution.weight]["momentum_buffer"]
    assert momentum.stride() == model.convolution.weight.stride() != momentum.contiguous().stride()
    assert not momentum.requires_grad
    assert torch.equal(momentum, checkpoint.tensors["optimizer.momentum_buffer.convolution.weight"])


def test_state_is_saved_within_an_epoch(tmp_path: Path):
    config = replace(TINY, num_epochs=1, batch_size=5, save_minutes=0.0)

    class Looks(SmallBatches):
        steps: list[int] = []

        def epoch(self, epoch: int, first_batch: int = 0):
            for batch in super().epoch(epoch, first_batch):
                names = [path.name for path in (tmp_path / "checkpoints").glob("last.step-*")]
                self.steps.append(int(names[0].split("-")[1].split(".")[0]))
                yield batch

    train_small(tmp_path, config, training_batches=Looks(50, 5))
    assert Looks.steps == [0, 0, 1, 2, 3, 4, 5, 6, 7, 8]
