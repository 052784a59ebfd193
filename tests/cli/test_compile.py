import json
from pathlib import Path

import pytest
import torch

import headgrid as package
from headgrid.attention import MultiheadAttention, MultiheadAttentionConfig
from headgrid.experiments import save_model
from headgrid.models import FullyAttentionalConfig
from headgrid.scores import GridCenters, QuadraticConfig
from headgrid.theory import CompiledAttention

from .conftest import Headgrid


@pytest.fixture
def local_model(tmp_path: Path) -> Path:
    """An attention-only model whose first layer is local and whose second is not."""
    torch.manual_seed(0)
    attention = MultiheadAttentionConfig(num_heads=9, scores=(QuadraticConfig(GridCenters(8.0)),))
    model = FullyAttentionalConfig(dim=24, num_layers=2, pixel_concatenation=4, attention=attention).build()
    with torch.no_grad():
        model.stack.blocks[1].attention.score.terms[0].spreads.fill_(0.2)
    save_model(model, tmp_path / "local.safetensors")
    return tmp_path / "local.safetensors"


def test_the_file_is_the_compiled_model(headgrid: Headgrid, local_model: Path):
    words = ("--data", "embedded", "--tolerance", "0.02", "--num-images", "5", "--json")
    ended = headgrid("compile", local_model, "compiled.safetensors", *words)
    assert ended.code == 0, ended.err
    report = json.loads(ended.out)
    assert [layer["names"] for layer in report["layers"]] == [["stack.blocks.0.attention"]]
    assert report["layers"][0]["footprint"] == {
        "first_row": -1,
        "first_column": -1,
        "num_rows": 3,
        "num_columns": 3,
    }
    assert report["layers"][0]["error"] <= report["layers"][0]["bound"]
    assert report["kept"][0]["names"] == ["stack.blocks.1.attention"]
    assert "exceeds half the 8 x 8 grid" in report["kept"][0]["reason"]
    assert abs(report["model"]["accuracy_before"] - report["model"]["accuracy_after"]) < 0.05

    original, compiled = package.load(local_model), package.load("compiled.safetensors")
    kinds = [type(block.attention) for block in compiled.stack.blocks]
    assert kinds == [CompiledAttention, MultiheadAttention]
    images = torch.randn(2, 3, 32, 32)
    with torch.no_grad():
        difference = (compiled(images) - original(images)).abs().max()
        assert 0 < difference < 1e-2 * original(images).abs().max()
    words = ("--data", "embedded", "--json", "--device", "cpu")
    evaluation = json.loads(headgrid("evaluate", "compiled.safetensors", *words).out)
    assert evaluation["accuracy"] == report["model"]["accuracy_after"]


def test_a_table_for_people(headgrid: Headgrid, local_model: Path):
    ended = headgrid("compile", local_model, "compiled.safetensors", "--data", "embedded", "--num-images", "3")
    assert ended.out.startswith("layer ")
    assert "stack.blocks.1.attention" in ended.out
    assert "Accuracy 0." in ended.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("RUN", "out.safetensors"), "has no attention to compile: expected an attention-only model"),
        (("MODEL", "out.safetensors"), "does not say what it was trained on: name the images with --data"),
        (("MODEL", "out.safetensors", "--data", "embedded", "--tolerance", "2"), "between 0 and 1, got 2.0"),
        (("MODEL", "out"), "ends in .safetensors"),
    ],
)
def test_mistakes(headgrid: Headgrid, trained: Path, local_model: Path, words: tuple[str, ...], message: str):
    named = {"RUN": trained, "MODEL": local_model}
    ended = headgrid("compile", *(named.get(word, word) for word in words))
    assert ended.code == 2
    assert ended.out == ""
    assert message in ended.err
    assert not Path("out.safetensors").exists()


def test_nothing_is_compiled_twice(headgrid: Headgrid, local_model: Path):
    words = ("--data", "embedded", "--tolerance", "0.02", "--num-images", "2")
    assert headgrid("compile", local_model, "compiled.safetensors", *words).code == 0
    ended = headgrid("compile", "compiled.safetensors", "again.safetensors", *words)
    assert ended.code == 2
    assert "compiled.safetensors is compiled already" in ended.err
