import sys
import types
from pathlib import Path

import pytest

from headgrid.training import Interrupted, RunFolder, TensorBoard, WeightsAndBiases
from headgrid.training.writers import Writer, scalars

from .small import EXPERIMENT, train_small
from .test_resume import TINY, Stops


def read_events(folder: Path, tag: str) -> dict[int, float]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder / "tensorboard"))
    events.Reload()
    return {event.step: event.value for event in events.Scalars(tag)}


def test_scalars_are_grouped_by_where_they_were_measured():
    row = {"epoch": 1, "step": 7, "training_loss": 2, "validation_accuracy": 0.5, "validation_loss": None}
    assert scalars(row) == {"epoch": 1.0, "training/loss": 2.0, "validation/accuracy": 0.5}


def test_tensorboard_has_every_row(tmp_path: Path):
    train_small(tmp_path, TINY, writers=[TensorBoard()])
    rows = RunFolder(tmp_path).metrics()
    for tag, key in (("training/loss", "training_loss"), ("validation/accuracy", "validation_accuracy")):
        assert read_events(tmp_path, tag) == {row["step"]: pytest.approx(row[key]) for row in rows}


def test_tensorboard_shows_a_resumed_run_once(tmp_path: Path):
    class Fails(TensorBoard):
        """Written, but killed before the checkpoint: the row of epoch 2 will come again."""

        def write(self, row):
            super().write(row)
            if row["epoch"] == 2:
                raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        train_small(tmp_path, TINY, writers=[Fails()])
    train_small(tmp_path, TINY, writers=[TensorBoard()], resume=True)
    rows = RunFolder(tmp_path).metrics()
    assert len(rows) == 3
    assert list(read_events(tmp_path, "training/loss")) == [row["step"] for row in rows]


@pytest.mark.parametrize(
    ("kind", "module", "extra"),
    [(TensorBoard, "torch.utils.tensorboard", "tensorboard"), (WeightsAndBiases, "wandb", "wandb")],
)
def test_a_missing_package_is_named_before_training(monkeypatch: pytest.MonkeyPatch, kind, module: str, extra: str):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ValueError, match=rf"needs its package: pip install 'headgrid\[{extra}\]'"):
        kind()


class FakeRun:
    def __init__(self) -> None:
        self.logged = []
        self.finished = False

    def log(self, values: dict, step: int) -> None:
        self.logged.append((step, values))

    def finish(self) -> None:
        self.finished = True


def test_weights_and_biases_continues_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The package and its service are replaced; what is asked of them is checked."""
    calls, runs = [], []

    def init(**options) -> FakeRun:
        calls.append(options)
        runs.append(FakeRun())
        return runs[-1]

    ids = iter(["first", "second"])
    fake = types.SimpleNamespace(init=init, util=types.SimpleNamespace(generate_id=lambda: next(ids)))
    monkeypatch.setitem(sys.modules, "wandb", fake)
    folder = tmp_path / "my-run"
    with pytest.raises(Interrupted):
        train_small(folder, TINY, writers=[WeightsAndBiases("project")], training_batches=Stops(3).batches(50, 25))
    train_small(folder, TINY, writers=[WeightsAndBiases("project")], resume=True)
    assert [call["id"] for call in calls] == ["first", "first"]
    assert calls[0]["project"] == "project"
    assert calls[0]["name"] == "my-run"
    assert calls[0]["resume"] == "allow"
    assert calls[0]["config"] == {"name": "small", "training": {"num_epochs": 4}}
    assert EXPERIMENT.startswith("name: small")
    assert [step for run in runs for step, _ in run.logged] == [2, 4, 6]
    assert all(run.finished for run in runs)
    assert runs[0].logged[0][1]["training/loss"] == RunFolder(folder).metrics()[0]["training_loss"]


def test_both_are_writers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "wandb", types.SimpleNamespace())
    assert isinstance(TensorBoard(), Writer)
    assert isinstance(WeightsAndBiases(), Writer)
