import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from headgrid.cli.train import _resume_hint
from headgrid.experiments import read_experiment
from headgrid.training import RunFolder

from .conftest import SHORT, Headgrid

TINY = ("resnet18", "--size", "tiny", "--epochs", "1", *SHORT)


def test_a_run_ends_with_its_accuracy_beside_the_published_one(headgrid: Headgrid, tmp_path: Path):
    ended = headgrid("train", *TINY, "--seed", "3")
    folder = tmp_path / "runs" / "resnet18-tiny-seed3"
    result = RunFolder(folder).result()
    assert ended.code == 0
    assert result is not None
    assert f"test accuracy {result['test_accuracy']:.2%}" in ended.out
    assert "published for size paper on CIFAR-10: 93.8%" in ended.out
    assert "run folder: runs/resnet18-tiny-seed3" in ended.out
    assert "epoch 1/1" in ended.err
    assert read_experiment(folder / "experiment.yaml").training.num_epochs == 1


def test_json_and_nothing_else(headgrid: Headgrid):
    ended = headgrid("train", *TINY, "--run", "here", "--json")
    result = json.loads(ended.out)
    assert result["run"] == "here"
    assert result["paper_accuracy"] == 0.938
    assert result["test_accuracy"] == result["test"]["accuracy"]


def test_an_experiment_from_a_file(headgrid: Headgrid, tmp_path: Path):
    text = headgrid("show", *TINY[:-2]).out.replace("name: resnet18", "name: mine")
    (tmp_path / "mine.yaml").write_text(text)
    ended = headgrid("train", "--config", "mine.yaml", "--device", "cpu")
    assert ended.code == 0
    assert "published" not in ended.out
    assert (tmp_path / "runs" / "mine-tiny-seed0" / "result.json").exists()


def test_a_folder_with_a_run_is_not_touched_without_resume(headgrid: Headgrid, trained: Path):
    before = {path: path.read_bytes() for path in trained.rglob("*") if path.is_file()}
    ended = headgrid("train", *TINY, "--run", trained)
    assert ended.code == 2
    assert "is not empty: add --resume" in ended.err
    assert before == {path: path.read_bytes() for path in trained.rglob("*") if path.is_file()}


def test_a_finished_run_is_said_to_be_finished(headgrid: Headgrid, trained: Path):
    ended = headgrid("train", "--run", trained, "--resume")
    assert ended.code == 0
    assert "is finished already" in ended.err
    assert "test accuracy" in ended.out


def test_another_experiment_does_not_go_on_with_a_run(headgrid: Headgrid, trained: Path):
    ended = headgrid("train", "--run", trained, "--resume", "--seed", "8")
    assert ended.code == 2
    assert ended.err.endswith("\n")
    assert "another experiment: seed is 0 there and 8 now" in ended.err
    assert "--size belongs to a preset" in headgrid("train", "--run", trained, "--resume", "--size", "tiny").err


def test_resume_without_a_run_starts_one_where_a_preset_is_named(headgrid: Headgrid):
    assert headgrid("train", *TINY, "--resume").code == 0
    ended = headgrid("train", "--run", "nothing", "--resume")
    assert ended.code == 2
    assert "nothing is no run folder" in ended.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--device", "cuda:99"), "cuda:99 was asked for"),
        (("--device", "gpu"), "there is no device 'gpu'"),
        (("--threads", "0"), "number of threads must be at least 1"),
        (("--threads", "100000"), "number of threads must be at least 1 and at most 1024, but is 100000"),
        (("--model.num-classes", "5"), "the model was made for num_classes 5 and the images of embedded have 10"),
        (("--model.image-size", "16", "24"), "for image_size (16, 24) and the images of embedded have (32, 32)"),
    ],
)
def test_mistakes_that_leave_no_run_folder(
    headgrid: Headgrid, tmp_path: Path, words: tuple[str, ...], message: str
):
    ended = headgrid("train", *TINY[:-2], *words)
    assert ended.code == 2
    assert message in ended.err
    assert not (tmp_path / "runs").exists()


def test_ctrl_c_saves_and_says_how_to_go_on(headgrid: Headgrid, tmp_path: Path):
    words = ("train", "resnet18", "--size", "tiny", "--epochs", "30", *SHORT, "--run", "run with space")
    process = subprocess.Popen(
        [sys.executable, "-m", "headgrid", *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert process.stderr is not None
    try:
        seen = next(line for line in process.stderr if line.startswith("epoch 2/30"))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
        process.wait()
    assert seen
    assert process.returncode == 130
    assert out == ""
    assert err.endswith("To go on: headgrid train --run 'run with space' --resume\n")
    assert "Traceback" not in err
    ended = headgrid("train", "--run", "run with space", "--resume", "--device", "cpu")
    assert ended.code == 0
    assert len(RunFolder(tmp_path / "run with space").metrics()) == 30


@pytest.mark.slow
def test_two_processes(tmp_path: Path):
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "headgrid")
    ended = subprocess.run(
        [sys.executable, *launcher, "train", *TINY, "--json"],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["num_processes"] == 2


def test_how_to_go_on_names_the_number_of_processes():
    assert _resume_hint(Path("a b"), 1) == "To go on: headgrid train --run 'a b' --resume"
    assert _resume_hint(Path("a"), 4).endswith(
        "in as many processes: torchrun --nproc-per-node 4 -m headgrid -- train --run a --resume"
    )
