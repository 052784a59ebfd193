import importlib
from pathlib import Path
from typing import Any

import pytest
import torch

import headgrid as package

from .conftest import Headgrid

LAYERS, KERNELS = [1, 1], [3, 5]


@pytest.fixture
def formulas(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The official network, as the tests of its translation describe it."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "interop"))
    return importlib.import_module("official_san_formulas")


@pytest.fixture
def state(formulas: Any) -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    state = formulas.random_state(formulas.network_shapes("pairwise", LAYERS, KERNELS, 7))
    return {name: value.float() if value.is_floating_point() else value for name, value in state.items()}


@pytest.fixture
def checkpoint(state: dict[str, torch.Tensor], tmp_path: Path) -> Path:
    prefixed = {f"module.{name}": value for name, value in state.items()}
    torch.save({"epoch": 100, "state_dict": prefixed, "top1_val": 0.75}, tmp_path / "model_best.pth")
    return tmp_path / "model_best.pth"


def test_the_file_is_a_model_of_ours(
    headgrid: Headgrid, formulas: Any, state: dict[str, torch.Tensor], checkpoint: Path, tmp_path: Path
):
    out = tmp_path / "san.safetensors"
    ended = headgrid("import", "san", checkpoint, out, "--kernels", "3,5")
    assert ended.code == 0, ended.err
    assert ended.out == ""
    assert "SAN" in ended.err
    assert "footprints 3,5" in ended.err
    assert "0.75" in ended.err
    images = torch.randn(2, 3, 20, 28)
    model = package.load(out)
    with torch.no_grad():
        logits = model(images)
    double = {name: value.double() for name, value in state.items()}
    expected = formulas.network(double, images.double(), "pairwise", LAYERS, KERNELS)
    torch.testing.assert_close(logits, expected.float(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("san", "--kernels", "3"), "2 stages and there are footprints for 1"),
        (("san",), "2 stages and there are footprints for 5"),
        (("san", "--kernels", "3;5"), "whole numbers with commas between them"),
        (("san", "--kernels", "3,4"), "the size of a footprint must be odd"),
        (("attention-cnn", "--kernels", "3,5"), "--kernels is for weights of san, and these are of attention-cnn"),
    ],
)
def test_footprints_that_do_not_fit_are_refused(
    headgrid: Headgrid, checkpoint: Path, tmp_path: Path, words: tuple[str, ...], message: str
):
    project, *options = words
    ended = headgrid("import", project, checkpoint, tmp_path / "san.safetensors", *options)
    assert ended.code == 2
    assert message in ended.err
    assert not (tmp_path / "san.safetensors").exists()
