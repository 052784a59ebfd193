import importlib
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

import headgrid as package
from headgrid.interop.attention_cnn import translate

from .conftest import Headgrid


@pytest.fixture
def original(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A small network of the original, as the tests of its translation describe it."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "interop"))
    return importlib.import_module("attention_cnn_original").Original("quadratic")


@pytest.fixture
def checkpoint(original: Any, tmp_path: Path) -> Path:
    folder = tmp_path / "original"
    folder.mkdir()
    content = {"epoch": 299, "test_accuracy": 0.875, "model_state_dict": original.random_state()}
    torch.save(content, folder / "final.checkpoint")
    (folder / "config.yaml").write_text(yaml.dump(original.config))
    return folder / "final.checkpoint"


def test_the_file_is_a_model_of_ours(headgrid: Headgrid, original: Any, checkpoint: Path, tmp_path: Path):
    out = tmp_path / "new" / "ours.safetensors"
    ended = headgrid("import", "attention-cnn", checkpoint, out)
    assert ended.code == 0, ended.err
    assert ended.out == ""
    assert "FullyAttentional" in ended.err
    assert "0.875" in ended.err
    images = original.random_images(3, 4)
    expected = translate(original.random_state(), original.config)(images)
    assert torch.equal(package.load(out)(images), expected)


def test_nothing_is_replaced_unasked(headgrid: Headgrid, checkpoint: Path, tmp_path: Path):
    out = tmp_path / "ours.safetensors"
    out.write_text("precious")
    ended = headgrid("import", "attention-cnn", checkpoint, out)
    assert ended.code == 2
    assert "exists already" in ended.err
    assert out.read_text() == "precious"
    assert headgrid("import", "attention-cnn", checkpoint, out, "--force").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("attention-cnn", "nothing.checkpoint", "out.safetensors"),
            "nothing.checkpoint: no such file or directory",
        ),
        (("attention-cnn", "CHECKPOINT", "out.pt"), "should be a file that ends in .safetensors"),
        (("attention-cn", "CHECKPOINT", "out.safetensors"), "attention-cnn"),
        (("attention-cnn", "CHECKPOINT"), "OUT"),
    ],
)
def test_mistakes(headgrid: Headgrid, checkpoint: Path, words: tuple[str, ...], message: str):
    ended = headgrid("import", *(checkpoint if word == "CHECKPOINT" else word for word in words))
    assert ended.code == 2
    assert ended.out == ""
    assert message in ended.err
    assert not Path("out.safetensors").exists()
