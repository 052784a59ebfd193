import importlib
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

import headgrid as package

from .conftest import Headgrid


@pytest.fixture
def formulas(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A vision transformer by the names of timm, as the tests of its translation describe it."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "interop"))
    return importlib.import_module("timm_vit_formulas")


@pytest.fixture
def state(formulas: Any) -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    return formulas.random_state()


@pytest.fixture
def checkpoint(state: dict[str, torch.Tensor], tmp_path: Path) -> Path:
    save_file(state, tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"


def test_the_file_is_a_model_of_ours(
    headgrid: Headgrid, formulas: Any, state: dict[str, torch.Tensor], checkpoint: Path, tmp_path: Path
):
    out = tmp_path / "vit.safetensors"
    ended = headgrid("import", "timm-vit", checkpoint, out, "--num-heads", "2")
    assert ended.code == 0, ended.err
    assert ended.out == ""
    assert "ViT" in ended.err
    assert "images of 12 x 12 in patches of 4 x 4, 2 heads, 5 classes" in ended.err
    images = torch.randn(2, 3, 12, 12, dtype=torch.float64)
    with torch.no_grad():
        torch.testing.assert_close(package.load(out)(images), formulas.logits(state, images, 2))


def test_for_other_images(headgrid: Headgrid, checkpoint: Path, tmp_path: Path):
    out = tmp_path / "vit.safetensors"
    ended = headgrid("import", "timm-vit", checkpoint, out, "--num-heads", "2", "--image-size", "8", "20")
    assert ended.code == 0, ended.err
    assert "images of 8 x 20" in ended.err
    assert package.load(out)(torch.zeros(1, 3, 8, 20, dtype=torch.float64)).shape == (1, 5)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("timm-vit",), "width of 12 is no multiple of 64"),
        (("timm-vit", "--kernels", "3"), "--kernels is for weights of san, and these are of timm-vit"),
        (("san", "--num-heads", "3"), "--num-heads is for weights of timm-vit, and these are of san"),
        (("attention-cnn", "--image-size", "8", "8"), "--image-size is for weights of timm-vit"),
        (("timm-vit", "--num-heads", "2", "--image-size", "9", "8"), "positive multiple of patch_size 4"),
    ],
)
def test_what_does_not_fit_is_refused(
    headgrid: Headgrid, checkpoint: Path, tmp_path: Path, words: tuple[str, ...], message: str
):
    project, *options = words
    ended = headgrid("import", project, checkpoint, tmp_path / "vit.safetensors", *options)
    assert ended.code == 2
    assert message in ended.err
    assert not (tmp_path / "vit.safetensors").exists()
