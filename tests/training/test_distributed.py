"""Two processes under torchrun do what one process does with batches twice as large."""

import json
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from headgrid.training import Processes, RunFolder, connected, load_weights, processes_from_environment

from .small import SmallBatches, small_penalty, small_renew, train_small
from .small_distributed import CONFIG, NUM_IMAGES, Model


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of all trainings of `small_distributed.py`, run once."""
    folder = tmp_path_factory.mktemp("group")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    address = ["--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0", "--local-addr", "127.0.0.1"]
    command = [*torchrun, *address, "-m", "training.small_distributed", str(folder)]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return folder


def ends(group: Path, name: str) -> list[dict]:
    return [json.loads((group / f"rank{rank}.json").read_text())[name] for rank in range(2)]


def test_same_curve_as_one_process_with_twice_the_batch(group: Path, tmp_path: Path):
    double = replace(CONFIG, batch_size=16)
    result = train_small(
        tmp_path, double, model=Model(), training_batches=SmallBatches(NUM_IMAGES, 16), describe=None
    )
    one, two = RunFolder(tmp_path).metrics(), RunFolder(group / "curve").metrics()
    assert len(two) == 3
    for alone, together in zip(one, two, strict=True):
        for key in ("epoch", "step", "learning_rate"):
            assert together[key] == alone[key]
        for key in ("training_loss", "training_accuracy", "validation_loss", "validation_accuracy"):
            assert together[key] == pytest.approx(alone[key], rel=1e-5), key
    assert one[-1]["training_loss"] < one[0]["training_loss"] - 0.05
    for name, tensor in load_weights(tmp_path).items():
        torch.testing.assert_close(load_weights(group / "curve")[name], tensor, rtol=1e-4, atol=1e-6)
    assert ends(group, "curve")[0] == {
        "end": "result",
        "test_images": 30,
        "test_accuracy": pytest.approx(result.test_accuracy),
    }


def test_a_penalty_counts_once_and_the_same_rows_begin_anew(group: Path, tmp_path: Path):
    """However many processes there are: gradients are averaged, and each of them adds the same term."""
    double = replace(CONFIG, batch_size=16)

    def alone(name: str, **options) -> dict[str, torch.Tensor]:
        batches = SmallBatches(NUM_IMAGES, 16)
        train_small(tmp_path / name, double, model=Model(), training_batches=batches, describe=None, **options)
        return load_weights(tmp_path / name, "last")

    together = load_weights(group / "care", "last")
    for name, tensor in alone("care", penalty=small_penalty, renew=small_renew).items():
        torch.testing.assert_close(together[name], tensor, rtol=1e-4, atol=1e-6)
    twice = alone("twice", penalty=lambda model: 2 * small_penalty(model), renew=small_renew)
    half = alone("half", penalty=lambda model: small_penalty(model) / 2, renew=small_renew)
    for other in (twice, half):
        assert (other["centers"] - together["centers"]).abs().max() > 1e-2
    one, two = (
        [event["rows"] for event in RunFolder(folder).events() if event["event"] == "renew"]
        for folder in (tmp_path / "care", group / "care")
    )
    assert one == two
    assert one[0]["centers"]


def test_unused_parameters_stay_untouched_as_in_one_process(group: Path):
    rows = RunFolder(group / "curve").centers()
    assert torch.equal(torch.tensor(rows[0]["never"]), Model().never.weight.detach())
    assert rows[0]["never"] == rows[-1]["never"]


def test_all_processes_get_the_result_and_all_refuse_the_same(group: Path):
    for name in ("curve", "care", "finished", "norm", "resumed"):
        first, second = ends(group, name)
        assert first == second
        assert first["end"] == "result"
    first, second = ends(group, "again")
    assert first == second
    assert "is not empty" in first["message"]


def test_ctrl_c_in_one_process_stops_all_and_resume_is_exact(group: Path):
    first, second = ends(group, "ctrl-c")
    assert first == second
    assert first["end"] == "Interrupted"
    assert "stopped after step 6 of 12" in first["message"]
    for row, expected in zip(
        RunFolder(group / "ctrl-c").metrics(), RunFolder(group / "curve").metrics(), strict=True
    ):
        for time in ("seconds", "images_per_second"):
            del row[time], expected[time]
        assert row == expected
    for name in ("last", "best"):
        found, expected = (load_weights(group / run, name) for run in ("ctrl-c", "curve"))
        assert all(torch.equal(found[key], tensor) for key, tensor in expected.items())


def test_a_bad_loss_in_one_process_stops_all_at_its_step(group: Path):
    first, second = ends(group, "nan")
    assert first == second
    assert first["end"] == "Diverged"
    assert "the training loss became nan or infinite at step 7 (epoch 2" in first["message"]
    assert all(tensor.isfinite().all() for tensor in load_weights(group / "nan", "last").values())


def test_a_run_of_two_processes_is_not_resumed_by_one(group: Path):
    with pytest.raises(ValueError, match=r"in this number of processes: 2, not 1"):
        train_small(group / "nan", CONFIG, model=Model(), resume=True)


def test_alone_nothing_is_exchanged():
    alone = Processes()
    values = torch.tensor([1.0, 2.0])
    alone.add_up([values])
    assert alone.sum([1, 2]) == [1, 2]
    assert alone.gather(values).tolist() == [[1.0, 2.0]]
    assert alone.on_main(lambda: "done") == "done"
    assert alone.is_main
    model = torch.nn.Linear(1, 1)
    assert alone.wrap(model, torch.device("cpu")) is model
    with connected(alone, torch.device("mps")) as processes:
        assert processes is alone


def test_torchrun_speaks_through_the_environment(monkeypatch: pytest.MonkeyPatch):
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    assert processes_from_environment() == Processes()
    monkeypatch.setenv("RANK", "5")
    monkeypatch.setenv("WORLD_SIZE", "8")
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert processes_from_environment() == Processes(5, 8, 1)
    monkeypatch.setenv("RANK", "five")
    with pytest.raises(ValueError, match="RANK, WORLD_SIZE and LOCAL_RANK must be numbers"):
        processes_from_environment()


def test_an_apple_gpu_trains_alone():
    with pytest.raises(ValueError, match="one process on mps"), connected(Processes(0, 2), torch.device("mps")):
        pass


def test_a_group_of_one_is_left_in_order(monkeypatch: pytest.MonkeyPatch):
    """Errors of the main process reach everybody, and the group is gone afterwards."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", **address}.items():
        monkeypatch.setenv(name, value)

    def fail() -> None:
        raise OSError("no space left")

    def work() -> None:
        # Two processes are promised, so that the group is really made; it has one.
        with connected(Processes(0, 2), torch.device("cpu")) as processes:
            assert processes.on_main(lambda: 7) == 7
            processes.on_main(fail)

    with pytest.raises(OSError, match="no space left"):
        work()
    assert not torch.distributed.is_initialized()
