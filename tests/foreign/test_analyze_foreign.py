"""`headgrid analyze` on models of timm, torchvision and transformers."""

import json
from importlib.util import find_spec

import numpy as np
import pytest
import torch
from PIL import Image

from headgrid.cli.main import main
from headgrid.interop.foreign_model.torchvision_import import import_torchvision

if find_spec("torchvision"):
    import_torchvision()
timm = pytest.importorskip("timm")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.foreign


def analyze(capsys, *words):
    code = main(["analyze", *map(str, words), "--device", "cpu"])
    return code, capsys.readouterr()


def test_timm(capsys):
    name = "timm:vit_tiny_patch16_224,weights=random,img_size=32,patch_size=4,depth=2"
    code, printed = analyze(capsys, name, "--data", "embedded", "--images", 4)
    assert code == 0
    for block in (0, 1):
        assert f"blocks.{block}.attn: 3 heads on 8 x 8 pixels, each 4 x 4 of the image\n" in printed.out


def test_timm_with_windows(capsys):
    name = "timm:swin_tiny_patch4_window7_224,weights=random,img_size=32,window_size=2"
    code, printed = analyze(capsys, name, "--data", "embedded", "--images", 2)
    assert code == 2
    assert "within windows" in printed.err
    assert "Traceback" not in printed.err


def test_torchvision_on_a_folder_of_images(capsys, tmp_path):
    for split in ("train", "test"):
        for index, kind in enumerate(("dogs", "cats")):
            folder = tmp_path / split / kind
            folder.mkdir(parents=True)
            pixels = np.random.default_rng(index).integers(0, 256, (40, 60, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / "image.png")
    code, printed = analyze(
        capsys, "torchvision:vit_b_32,weights=random", "--data", tmp_path, "--images", 2, "--json"
    )
    assert code == 0
    layers = json.loads(printed.out)["layers"]
    assert len(layers) == 12
    assert all(layer["grid"] == [7, 7] and len(layer["heads"]) == 12 for layer in layers)


def test_a_folder_of_transformers(capsys, tmp_path):
    config = transformers.Dinov2Config(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, image_size=32, patch_size=4, num_labels=4
    )
    torch.manual_seed(0)
    transformers.Dinov2ForImageClassification(config).save_pretrained(tmp_path / "dino")
    words = (f"hf:{tmp_path / 'dino'}", "--data", "embedded", "--images", 3, "--out", tmp_path / "out")
    code, printed = analyze(capsys, *words)
    assert code == 0
    assert "2 heads on 8 x 8 pixels, each 4 x 4 of the image" in printed.out
    assert "to tokens" in printed.out
    report = json.loads((tmp_path / "out" / "measures.json").read_text())
    assert [len(layer["heads"]) for layer in report["layers"]] == [2, 2]
