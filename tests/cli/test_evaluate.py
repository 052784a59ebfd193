import json
from pathlib import Path

import pytest

from headgrid.experiments import load, save_model
from headgrid.training import RunFolder

from .conftest import Headgrid


def test_the_test_images_of_a_run_give_the_result_of_its_training(headgrid: Headgrid, trained: Path):
    ended = headgrid("evaluate", trained, "--json", "--device", "cpu")
    evaluation = json.loads(ended.out)
    result = RunFolder(trained).result()
    assert result is not None
    assert evaluation["data"] == "embedded"
    assert evaluation["split"] == "test"
    for key in ("num_images", "accuracy", "top5_accuracy"):
        assert evaluation[key] == result["test"][key]
    assert evaluation["loss"] == pytest.approx(result["test"]["loss"], rel=1e-6)
    assert list(evaluation["per_class"].values()) == result["test"]["per_class"]


def test_a_table_for_people(headgrid: Headgrid, trained: Path):
    out = headgrid("evaluate", trained, "--split", "validation").out
    assert out.startswith("50 validation images of embedded\n")
    for line in ("accuracy ", "top-5 accuracy ", "loss ", "checkerboard "):
        assert line in out


def test_a_file_that_knows_its_model_needs_the_name_of_the_images(
    headgrid: Headgrid, trained: Path, tmp_path: Path
):
    save_model(load(trained), tmp_path / "model.safetensors")
    assert (
        "does not say what it was trained on: name the images with --data"
        in headgrid("evaluate", "model.safetensors").err
    )
    ended = headgrid("evaluate", "model.safetensors", "--data", "embedded", "--split", "validation", "--json")
    assert json.loads(ended.out)["num_images"] == 500


def test_other_data(headgrid: Headgrid, trained: Path, cifar_dir: Path):
    checkpoint = trained / "checkpoints" / "last.safetensors"
    words = ("--data", "cifar10", "--data-dir", cifar_dir, "--split", "validation", "--batch-size", "2500")
    evaluation = json.loads(headgrid("evaluate", checkpoint, *words, "--json").out)
    assert (evaluation["data"], evaluation["num_images"]) == ("cifar10", 5000)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nothing",), "nothing does not exist"),
        (("RUN", "--data", "cifar100"), "made for num_classes 10 and the images of cifar100 have 100"),
        (("RUN", "--data", "nowhere"), "--data nowhere: there is no such folder"),
        (("RUN", "--batch-size", "0"), "batch_size must be at least 1"),
        (("RUN", "--split", "tset"), "tset"),
    ],
)
def test_mistakes(headgrid: Headgrid, trained: Path, words: tuple[str, ...], message: str):
    ended = headgrid("evaluate", *(trained if word == "RUN" else word for word in words))
    assert ended.code == 2
    assert ended.out == ""
    assert message in ended.err
