from pathlib import Path

import pytest
import torch

from headgrid.training import RunFolder
from headgrid.training.checkpoint import Checkpoint
from headgrid.training.run_folder import first_difference

TEXT = "model:\n  depth: 6\n  heads: [1, 2]\ntraining:\n  rate: 0.1\n"


def checkpoint(epoch: int) -> Checkpoint:
    return Checkpoint({"w": torch.zeros(2)}, {}, {"epoch": epoch, "step": 10 * epoch})


def test_a_new_folder_gets_its_experiment(tmp_path: Path):
    run = RunFolder(tmp_path / "deep" / "run")
    with run.opened(TEXT, resume=False) as found:
        assert found is None
    assert run.experiment() == TEXT
    assert run.result() is None
    assert run.metrics() == run.centers() == run.events() == []


@pytest.mark.parametrize("resume", [False, True])
def test_leftovers_of_a_process_killed_at_once_do_not_block(tmp_path: Path, resume: bool):
    (tmp_path / ".lock").touch()
    (tmp_path / ".experiment.yaml.tmp").write_text("half")
    with RunFolder(tmp_path).opened(TEXT, resume):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "experiment.yaml"]


def test_a_folder_in_use_is_not_begun_again(tmp_path: Path):
    run = RunFolder(tmp_path)
    with run.opened(TEXT, resume=False):
        pass
    with pytest.raises(ValueError, match="is not empty: resume the run in it, or choose"), run.opened(TEXT, False):
        pass


@pytest.mark.parametrize("resume", [False, True])
def test_a_folder_of_something_else_is_left_alone(tmp_path: Path, resume: bool):
    (tmp_path / "thesis.txt").write_text("years of work")
    with (
        pytest.raises(ValueError, match=r"not empty|no run folder: it has no experiment\.yaml"),
        RunFolder(tmp_path).opened(TEXT, resume),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_is_no_folder(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="is a file"), RunFolder(tmp_path / "file").opened(TEXT, True):
        pass


def test_rows_newer_than_the_checkpoint_are_cut(tmp_path: Path):
    run = RunFolder(tmp_path)
    with run.opened(TEXT, resume=False):
        for epoch in range(4):
            run.add_metrics({"epoch": epoch + 1})
            run.add_centers({"epoch": epoch})
            run.add_event("something", epoch=epoch)
        run.save("last", checkpoint(2))
    (tmp_path / "metrics.jsonl").open("a").write('{"epoch": 5, "lo')
    (tmp_path / "events.jsonl").open("a").write('{"ev')
    (tmp_path / "checkpoints" / ".last.safetensors.tmp").touch()
    with run.opened(TEXT, resume=True) as found:
        assert found is not None
        assert found.state["epoch"] == 2
        assert [row["epoch"] for row in run.metrics()] == [1, 2]
        assert [row["epoch"] for row in run.centers()] == [0, 1, 2]
        assert [row["epoch"] for row in run.events()] == [0, 1, 2, 3]
        assert not list((tmp_path / "checkpoints").glob(".*"))


def test_without_a_checkpoint_everything_starts_over(tmp_path: Path):
    run = RunFolder(tmp_path)
    with run.opened(TEXT, resume=False):
        run.add_metrics({"epoch": 1})
        run.add_centers({"epoch": 0})
    with run.opened(TEXT, resume=True) as found:
        assert found is None
        assert run.metrics() == run.centers() == []


def test_another_experiment_is_refused_by_its_first_difference(tmp_path: Path):
    run = RunFolder(tmp_path)
    with run.opened(TEXT, resume=False):
        pass
    other = TEXT.replace("rate: 0.1", "rate: 0.2").replace("[1, 2]", "[1, 3]")
    with pytest.raises(ValueError, match=r"model\.heads\[1\] is 2 there and 3 now"), run.opened(other, resume=True):
        pass
    with run.opened(TEXT + "# a comment changes nothing\n", resume=True):
        pass
    run.experiment_file.write_text("a: [")
    with pytest.raises(ValueError, match=r"experiment\.yaml is damaged"), run.opened(TEXT, resume=True):
        pass


@pytest.mark.parametrize(
    ("stored", "given", "expected"),
    [
        ({"a": 1}, {"a": 1}, None),
        ({"a": {"b": 1, "c": 2}}, {"a": {"c": 3, "b": 1}}, ("a.c", 2, 3)),
        ({"a": 1}, {"a": 1, "b": 2}, ("b", "(absent)", 2)),
        ({"a": 1, "b": 2}, {"b": 2}, ("a", 1, "(absent)")),
        ({"a": [1, 2]}, {"a": [1]}, ("a", [1, 2], [1])),
        ({"a": [{"k": 1}]}, {"a": [{"k": 2}]}, ("a[0].k", 1, 2)),
        ({"a": {"k": 1}}, {"a": None}, ("a", {"k": 1}, None)),
        (None, 3, ("the whole document", None, 3)),
    ],
)
def test_first_difference(stored, given, expected):
    assert first_difference(stored, given) == expected
