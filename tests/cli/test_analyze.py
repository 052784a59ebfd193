"""`headgrid analyze`: runs, files and models of others; tables, JSON, CSV; mistakes."""

import csv
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgrid.cli.main import main
from headgrid.experiments import create, save_model

from .conftest import SHORT, Headgrid

SOMEBODYS_MODEL = '''
import torch
from torch import nn


class ViT(nn.Module):
    def __init__(self, patch, batch_first=True):
        super().__init__()
        self.patches = nn.Conv2d(3, 8, patch, patch)
        self.token = nn.Parameter(torch.randn(1, 1, 8))
        self.attention = nn.MultiheadAttention(8, 2, batch_first=batch_first)
        self.classes = nn.Linear(8, 4)

    def forward(self, images):
        tokens = self.patches(images).flatten(2).mT
        tokens = torch.cat([self.token.expand(len(images), -1, -1), tokens], dim=1)
        return self.classes(self.attention(tokens, tokens, tokens)[0][:, 0])


def make_vit(patch=8):
    return ViT(patch)


class Folded(ViT):
    """Nothing tells how its 256 + 20 tokens lie."""

    def forward(self, images):
        tokens = images.flatten(1).unflatten(1, (-1, 8))
        tokens = tokens[:, : 256 + 20]
        return self.attention(tokens, tokens, tokens)[0][:, 0]


def make_folded():
    return Folded(8)


def make_convolutional():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())


def make_dictionary():
    return {}
'''


@pytest.fixture(scope="module")
def quadratic_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "quadratic"
    assert main(["train", "quadratic", "--size", "tiny", "--epochs", "1", "--run", str(folder), *SHORT]) == 0
    return folder


@pytest.fixture
def somebody(headgrid: Headgrid, tmp_path: Path) -> Iterator[Headgrid]:
    """A command line in a folder with somebody's module."""
    (tmp_path / "somebodys_models.py").write_text(SOMEBODYS_MODEL)
    yield headgrid
    sys.modules.pop("somebodys_models", None)
    if str(tmp_path) in sys.path:
        sys.path.remove(str(tmp_path))


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as text:
        return list(csv.DictReader(text))


def test_a_run_folder(headgrid: Headgrid, quadratic_run: Path):
    ended = headgrid("analyze", quadratic_run, "--images", "6", "--batch-size", "4")
    assert ended.code == 0
    assert ended.out.startswith("6 test images of embedded\n")
    folder = quadratic_run / "analysis"
    assert f"wrote measures.json, heads.csv and layers.csv into {folder}" in ended.err
    report = json.loads((folder / "measures.json").read_text())
    assert (report["model"], report["data"], report["split"]) == (str(quadratic_run), "embedded", "test")
    assert (report["num_images"], report["image_size"]) == (6, [32, 32])
    assert report["thresholds"] == {"tolerance": 0.1, "similarity": 0.9}
    heads, layers = rows_of(folder / "heads.csv"), rows_of(folder / "layers.csv")
    assert len(layers) == len(report["layers"])
    assert len(heads) == sum(len(layer["heads"]) for layer in report["layers"])
    for row, layer in zip(layers, report["layers"], strict=True):
        assert row["sentence"] == layer["sentence"]
        assert (
            f"{layer['layer']}: {len(layer['heads'])} heads on 8 x 8 pixels, each 4 x 4 of the image" in ended.out
        )
        assert layer["sentence"] in ended.out
        assert "no head looks at the image" in layer["sentence"]
    measured = [head for layer in report["layers"] for head in layer["heads"]]
    for row, head in zip(heads, measured, strict=True):
        assert (row["layer"], int(row["head"])) == (head["layer"], head["head"])
        assert float(row["peak_mass"]) == head["peak_mass"]
        assert float(row["exact_center_column"]) == head["exact_center"][1]
    assert "Centre: the parameter of a quadratic head" in ended.out.replace("\n", " ")
    assert "To tokens" not in ended.out


def test_json_is_all_that_is_printed(headgrid: Headgrid, quadratic_run: Path):
    printed = json.loads(headgrid("analyze", quadratic_run, "--images", "2", "--split", "validation", "--json").out)
    assert printed == json.loads((quadratic_run / "analysis" / "measures.json").read_text())
    assert printed["split"] == "validation"


def test_thresholds_of_ones_own(headgrid: Headgrid, quadratic_run: Path):
    words = ("--images", "2", "--tolerance", "0.95", "--similarity", "0.01", "--json")
    layers = json.loads(headgrid("analyze", quadratic_run, *words).out)["layers"]
    assert all(layer["covered_kernel_size"] >= 1 for layer in layers)
    assert all(len(layer["redundant"]) == 1 for layer in layers)


def test_a_file_and_a_folder_of_ones_own_for_the_results(headgrid: Headgrid, tmp_path: Path):
    save_model(create("learned-content", size="tiny"), tmp_path / "model.safetensors")
    words = ("analyze", "model.safetensors", "--data", "embedded", "--images", "2")
    ended = headgrid(*words)
    assert ended.code == 0
    assert "Centre" not in ended.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.safetensors"]
    assert headgrid(*words, "--out", "results/here").code == 0
    assert sorted(path.name for path in (tmp_path / "results" / "here").iterdir()) == [
        "heads.csv",
        "layers.csv",
        "measures.json",
    ]


def test_a_model_of_somebody_else(somebody: Headgrid, tmp_path: Path):
    words = ("--data", "embedded", "--images", "5", "--batch-size", "2")
    ended = somebody("analyze", "module:somebodys_models.make_vit", *words)
    assert ended.code == 0
    assert "attention: 2 heads on 4 x 4 pixels, each 8 x 8 of the image\n" in ended.out
    assert "to tokens" in ended.out
    assert "To tokens: the share of its attention" in ended.out.replace("\n", " ")
    assert not (tmp_path / "analysis").exists()
    options = ("analyze", "module:somebodys_models.make_vit,patch=4", *words, "--json", "--out", "vit")
    printed = json.loads(somebody(*options).out)
    assert printed["layers"][0]["grid"] == [8, 8]
    assert json.loads((tmp_path / "vit" / "measures.json").read_text()) == printed
    assert all(0 < head["token_share"] < 1 for head in printed["layers"][0]["heads"])


def test_the_grid_of_somebody_elses_tokens(somebody: Headgrid):
    words = ("analyze", "module:somebodys_models.make_folded", "--data", "embedded", "--images", "2")
    ended = somebody(*words)
    assert ended.code == 2
    assert "attention: its 276 tokens are none of the maps" in ended.err
    assert "say the grid (rows and columns) if they are patches" in ended.err
    ended = somebody(*words, "--grid", "8", "32", "--num-tokens", "20")
    assert ended.code == 0
    assert "attention: 2 heads on 8 x 32 pixels" in ended.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nothing",), "nothing does not exist"),
        (("RUN", "--images", "0"), "--images 0: embedded has 60 test images, so take 1 to 60"),
        (("RUN", "--images", "61"), "take 1 to 60"),
        (("RUN", "--batch-size", "0"), "batch_size must be at least 1"),
        (("RUN", "--tolerance", "1"), "the tolerance is a share from 0 to below 1"),
        (("RUN", "--similarity", "2"), "the similarity is a cosine"),
        (("RUN", "--data", "nowhere"), "--data nowhere: there is no such folder"),
        (("RUN", "--device", "tpu"), "tpu"),
        (("CONVOLUTIONAL",), "no attention of ResNet can be recorded"),
        (("module:somebodys_models.make_vit",), "does not say what it was trained on: name the images with --data"),
        (("module:somebodys_models.make_it", "--data", "embedded"), "has no function or class 'make_it'"),
        (("module:somebodys_models.make_vit,path=4", "--data", "embedded"), "cannot be called with path=4"),
        (
            ("module:somebodys_models.make_dictionary", "--data", "embedded"),
            "gives an object of type dict: expected an nn.Module",
        ),
        (("module:nobodys_models.make", "--data", "embedded"), "there is no Python module nobodys_models"),
        (("module:somebodys_models.make_vit,patch=64", "--data", "embedded"), "cannot take the images of embedded"),
        (("module:somebodys_models.make_convolutional", "--data", "embedded"), "it calls neither"),
        (("hf:folder", "--data", "embedded"), "folder is no folder that transformers saved a model into"),
    ],
)
def test_mistakes(somebody: Headgrid, quadratic_run: Path, trained: Path, words: tuple[str, ...], message: str):
    places = {"RUN": quadratic_run, "CONVOLUTIONAL": trained}
    ended = somebody("analyze", *(places.get(word, word) for word in words))
    assert ended.code == 2
    assert ended.out == ""
    assert message in ended.err
    assert "Traceback" not in ended.err


def test_help_teaches(headgrid: Headgrid):
    out = headgrid("analyze", "--help").out
    assert "headgrid analyze timm:" in out
    for word in ("RUN_OR_MODEL", "--tolerance", "--grid", "torchvision:NAME", "hf:FOLDER", "module:"):
        assert word in out


@pytest.mark.parametrize(("width", "is_table"), [(160, True), (100, True), (60, False)])
def test_tables_fit_the_terminal_or_become_paragraphs(
    headgrid: Headgrid, quadratic_run: Path, monkeypatch: pytest.MonkeyPatch, width: int, is_table: bool
):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    out = re.sub(r"\x1b\[\d*m", "", headgrid("analyze", quadratic_run, "--images", "2").out)
    assert max(map(len, out.splitlines())) <= width
    assert bool(re.search("head +peak +mass +mean shift", out)) == is_table
    assert "Peak: the shift" in out
