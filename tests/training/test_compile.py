"""A compiled model trains the same weights under the same names."""

import functools
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from headgrid.training import RunFolder, TrainingConfig, WeightAverage, load_weights

from .small import SmallModel, train_small

CONFIG = TrainingConfig(num_epochs=1, batch_size=25, average=WeightAverage(0.9))


def assert_same_run(compiled: Path, plain: Path) -> None:
    assert load_weights(compiled).keys() == SmallModel().state_dict().keys()
    assert len(RunFolder(plain).metrics()) > 0
    for row, expected in zip(RunFolder(compiled).metrics(), RunFolder(plain).metrics(), strict=True):
        assert row["training_loss"] == pytest.approx(expected["training_loss"], rel=1e-4)
        assert row["validation_loss"] == pytest.approx(expected["validation_loss"], rel=1e-4)


def test_names_and_losses_are_those_of_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The graph is captured for real; generating C++ for it is left to the slow test."""
    calls = []

    def backend(graph: torch.fx.GraphModule, inputs: list) -> object:
        calls.append(graph)
        return graph

    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend=backend))
    train_small(tmp_path / "plain", CONFIG, model=SmallModel(dropout=0.0))
    assert not calls
    train_small(tmp_path / "compiled", CONFIG, model=SmallModel(dropout=0.0), compile=True)
    assert calls
    assert_same_run(tmp_path / "compiled", tmp_path / "plain")
    monkeypatch.undo()
    torch.compiler.reset()


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="needs a C++ compiler")
def test_compiled_for_real(tmp_path: Path):
    for name, options in (("compiled", ["--compile"]), ("plain", [])):
        command = [sys.executable, "-m", "training.small", str(tmp_path / name), "--dropout", "0", *options]
        subprocess.run(command, cwd=Path(__file__).parents[1], check=True, timeout=280)
    assert_same_run(tmp_path / "compiled", tmp_path / "plain")
