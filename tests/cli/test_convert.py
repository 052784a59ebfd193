import json
from pathlib import Path

import pytest
import torch
from torch import nn

import headgrid as package
from headgrid.experiments import save_model

from .conftest import Headgrid


def test_the_file_gives_the_logits_of_the_run(headgrid: Headgrid, trained: Path):
    ended = headgrid("convert", trained, "new/attention.safetensors", "--verify-on", "embedded", "--json")
    assert ended.code == 0, ended.err
    report = json.loads(ended.out)
    original, converted = package.load(trained), package.load("new/attention.safetensors")
    assert not any(isinstance(module, nn.Conv2d) for module in converted.modules())
    images = torch.randn(3, 3, 32, 32)
    torch.testing.assert_close(converted(images), original(images), rtol=0, atol=1e-4)
    num_convolutions = sum(isinstance(module, nn.Conv2d) for module in original.modules())
    assert len(report["layers"]) == num_convolutions
    assert report["kept"] == []
    assert report["verification"]["num_images"] == 50
    assert report["verification"]["error"] < 1e-4
    assert all(layer["error"] <= 1e-5 * layer["scale"] for layer in report["layers"])


def test_evaluate_accepts_the_file(headgrid: Headgrid, trained: Path):
    headgrid("convert", trained, "attention.safetensors")
    words = ("--data", "embedded", "--split", "validation", "--json", "--device", "cpu")
    after = json.loads(headgrid("evaluate", "attention.safetensors", *words).out)
    save_model(package.load(trained), "convolutions.safetensors")
    before = json.loads(headgrid("evaluate", "convolutions.safetensors", *words).out)
    assert after.pop("loss") == pytest.approx(before.pop("loss"), rel=1e-4)
    assert after == before


def test_a_table_for_people(headgrid: Headgrid, trained: Path):
    ended = headgrid("convert", trained, "attention.safetensors", "--verify-on", "embedded", "--num-images", "4")
    assert ended.out.startswith("layer ")
    assert "stem.0.convolution" in ended.out
    assert "On 4 images the outputs differ by at most" in " ".join(ended.out.split())
    assert ended.err.endswith("wrote attention.safetensors\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nothing", "out.safetensors"), "nothing does not exist"),
        (("RUN", "out.pt"), "out.pt should be a file that ends in .safetensors"),
        (("RUN", "out.safetensors", "--verify-on", "nowhere"), "nowhere: there is no such folder"),
        (("RUN", "out.safetensors", "--verify-on", "embedded", "--num-images", "0"), "0 cannot be taken"),
    ],
)
def test_mistakes(headgrid: Headgrid, trained: Path, words: tuple[str, ...], message: str):
    ended = headgrid("convert", *(trained if word == "RUN" else word for word in words))
    assert ended.code == 2
    assert ended.out == ""
    assert message in ended.err
    assert not Path("out.safetensors").exists()


def test_nothing_is_replaced_unasked_and_nothing_converted_twice(headgrid: Headgrid, trained: Path):
    assert headgrid("convert", trained, "attention.safetensors").code == 0
    assert "exists already" in headgrid("convert", trained, "attention.safetensors").err
    assert headgrid("convert", trained, "attention.safetensors", "--force").code == 0
    ended = headgrid("convert", "attention.safetensors", "again.safetensors")
    assert "attention.safetensors is converted already" in ended.err


def test_a_vision_transformer_that_begins_with_convolutions(headgrid: Headgrid):
    report_vit = package.create("report-vit", "tiny").eval()
    save_model(report_vit, "vit.safetensors")
    ended = headgrid("convert", "vit.safetensors", "attention.safetensors", "--json")
    assert ended.code == 0, ended.err
    assert len(json.loads(ended.out)["layers"]) == 5
    converted = package.load("attention.safetensors")
    images = torch.randn(2, 3, 32, 32)
    torch.testing.assert_close(converted(images), report_vit(images), rtol=0, atol=1e-4)


def test_a_model_of_attention_alone(headgrid: Headgrid):
    save_model(package.create("quadratic", "tiny"), "quadratic.safetensors")
    ended = headgrid("convert", "quadratic.safetensors", "attention.safetensors")
    assert ended.code == 2
    assert "quadratic.safetensors has no convolutions to convert: expected a residual network" in ended.err
