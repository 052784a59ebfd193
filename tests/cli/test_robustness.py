import csv
import json
from pathlib import Path

import pytest

from headgrid.cli.robustness_checks import fraction

from .conftest import Headgrid

SHORT = ("--images", "20", "--iterations", "2", "--device", "cpu")
TURNED = ["clockwise 90", "clockwise 180", "clockwise 270", "upside-down"]

FOREIGN = """
import torch
from torch import nn


class Colours(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.linear = nn.Linear(3, num_classes)

    def forward(self, images):
        return self.linear(images.mean((2, 3)).clamp(-3, 3))


class Overflowing(Colours):
    def forward(self, images):
        return super().forward(images) * torch.exp(200 * (images.mean((1, 2, 3)) > 0)[:, None])


class Deaf(Colours):
    @torch.no_grad()
    def forward(self, images):
        return super().forward(images)
"""


@pytest.fixture
def foreign(tmp_path: Path) -> str:
    (tmp_path / "robustness_test_models.py").write_text(FOREIGN)
    return "module:robustness_test_models"


def test_json_csv_and_plot_tell_the_same(headgrid: Headgrid, trained: Path, tmp_path: Path):
    pytest.importorskip("matplotlib")
    files = ("--csv", "new/numbers.csv", "--plot", "new/bars.svg")
    ended = headgrid("robustness", trained, *SHORT, *files, "--json", "--seed", "5")
    assert ended.code == 0, ended.err
    (found,) = json.loads(ended.out)
    assert (found["model"], found["data"], found["split"]) == (str(trained), "embedded", "test")
    assert found["num_images"] == 20
    checks = found["checks"]
    assert [check["check"] for check in checks] == [*TURNED, "PGD", "targeted PGD"]
    for check in checks:
        assert check["drop"] == pytest.approx(found["accuracy"] - check["accuracy"])
        assert check["top5_drop"] == pytest.approx(found["top5_accuracy"] - check["top5_accuracy"])
    assert "epsilon" not in checks[0]
    attack = {"epsilon": 8 / 255, "step_size": 2 / 255, "iterations": 2, "seed": 5, "start": "random"}
    for check, target in zip(checks[4:], (None, "random"), strict=True):
        assert check["target"] == target
        assert {key: check[key] for key in attack} == attack
        assert check["success_rate"] is None or 0 <= check["success_rate"] <= 1
    assert checks[4]["loss"] > found["loss"]

    with (tmp_path / "new" / "numbers.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["check"] for row in rows] == ["unchanged", *TURNED, "PGD", "targeted PGD"]
    assert (rows[0]["accuracy"], rows[0]["drop"]) == (str(found["accuracy"]), "0.0")
    for row, check in zip(rows[1:], checks, strict=True):
        for key, text in row.items():
            value = {**found, **check}.get(key)
            assert text == ("" if value is None else str(value))
    assert (tmp_path / "new" / "bars.svg").read_text().startswith("<?xml")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["bars.svg", "numbers.csv"]


def test_turned_images_of_all_test_images_without_the_attacks(headgrid: Headgrid, trained: Path):
    words = ("robustness", trained, "--images", "0", "--checks", "rotations", "--device", "cpu")
    (found,) = json.loads(headgrid(*words, "--json").out)
    assert found["num_images"] == 60
    assert [check["check"] for check in found["checks"]] == TURNED
    evaluation = json.loads(headgrid("evaluate", trained, "--json", "--device", "cpu").out)
    assert (found["accuracy"], found["top5_accuracy"]) == (evaluation["accuracy"], evaluation["top5_accuracy"])


def test_the_table_has_drops_in_brackets(headgrid: Headgrid, trained: Path):
    (found,) = json.loads(headgrid("robustness", trained, *SHORT, "--json").out)
    out = headgrid("robustness", trained, *SHORT).out
    assert out.startswith("20 test images of embedded\n")
    top1, top5, attacks = out.split("%\n")[1:]
    for title, drop, table in (("accuracy", "drop", top1), ("top5_accuracy", "top5_drop", top5)):
        header, row = table.strip().splitlines()[:2]
        assert header.split("  ")[0] == "model"
        assert " ".join(header.split()) == f"model no rotation {' '.join(TURNED)}"
        cells = [f"{100 * found[title]:.1f}"]
        cells += [f"{100 * check[title]:.1f} ({100 * check[drop]:.1f})" for check in found["checks"][:4]]
        assert " ".join(row.split()) == " ".join([str(trained), *cells])
    assert attacks.startswith("L-infinity, epsilon 8/255, 2 steps of 2/255, start: random, target: random\n")
    assert "success of targeted PGD" in attacks


def test_options_of_the_attack_are_heard(headgrid: Headgrid, trained: Path):
    numbers = ("--epsilon", "0.01", "--step-size", "1/255", "--start", "image", "--target", "least-likely")
    words = ("robustness", trained, *SHORT, "--checks", "targeted-pgd", *numbers)
    (found,) = json.loads(headgrid(*words, "--json").out)
    (check,) = found["checks"]
    assert (check["check"], check["target"], check["start"]) == ("targeted PGD", "least-likely", "image")
    assert (check["epsilon"], check["step_size"]) == (0.01, 1 / 255)
    assert "epsilon 2.55/255, 2 steps of 1/255, start: image, target: least-likely" in headgrid(*words).out


def test_batches_and_repetition_make_no_difference(headgrid: Headgrid, trained: Path):
    results = [
        json.loads(headgrid("robustness", trained, *SHORT, "--batch-size", size, "--json").out)
        for size in (20, 20, 7)
    ]
    assert results[0] == results[1]
    for one, other in zip(results[0][0]["checks"], results[2][0]["checks"], strict=True):
        assert one.pop("loss") == pytest.approx(other.pop("loss"), rel=1e-4)
        assert one == other


def test_ours_and_a_foreign_model_in_one_table(headgrid: Headgrid, trained: Path, foreign: str):
    model = f"{foreign}.Colours"
    ended = headgrid("robustness", trained, model, *SHORT, "--data", "embedded", "--json")
    assert ended.code == 0, ended.err
    ours, theirs = json.loads(ended.out)
    assert (ours["model"], theirs["model"]) == (str(trained), model)
    # Its answers do not depend on where a pixel stands.
    assert [check["drop"] for check in theirs["checks"][:4]] == [0, 0, 0, 0]


def test_a_model_that_overflows_on_some_images(headgrid: Headgrid, foreign: str):
    words = ("robustness", f"{foreign}.Overflowing", *SHORT, "--data", "embedded")
    (found,) = json.loads(headgrid(*words, "--json").out)
    assert found["loss"] is None
    assert all(0 <= check["accuracy"] <= 1 for check in found["checks"])
    assert all(check["success_rate"] is None or check["success_rate"] <= 1 for check in found["checks"][4:])
    assert headgrid(*words).code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "there is no model to measure"),
        (("nothing",), "nothing does not exist"),
        (("RUN", "--checks"), "--checks should name at least one of rotations, pgd and targeted-pgd"),
        (("RUN", "--epsilon", "much"), "--epsilon should be a number such as 8/255 or 0.03, not 'much'"),
        (("RUN", "--epsilon", "8"), "epsilon is a change of pixels from 0 to 1, so it cannot be 8.0"),
        (("RUN", "--step-size", "1/0"), "--step-size should be a number such as 8/255 or 0.03, not '1/0'"),
        (("RUN", "--iterations", "0"), "PGD takes at least one step"),
        (("RUN", "--images", "-1"), "--images should be a number of images, or 0 for all, not -1"),
        (("RUN", "--batch-size", "0"), "--batch-size must be at least 1, not 0"),
        (("RUN", "--seed", "-1"), "a seed is a whole number from 0 on, not -1"),
        (("RUN", "--csv", "."), "--csv . is a folder: name a file"),
        (("RUN", "--plot", "bars.txt"), "--plot bars.txt should end in .png, .pdf, .svg"),
        (("RUN", "--data", "cifar100"), "made for num_classes 10 and the images of cifar100 have 100"),
        (("FOREIGN.Colours",), "does not say what it was trained on: name the images with --data"),
        (("FOREIGN.Colours,num_classes=4", "--data", "embedded"), "tells 4 classes apart"),
        (("FOREIGN.Deaf", "--data", "embedded", *SHORT), "no gradient with respect to its images"),
    ],
)
def test_mistakes(
    headgrid: Headgrid, trained: Path, foreign: str, tmp_path: Path, words: tuple[str, ...], message: str
):
    places = (word.replace("RUN", str(trained)).replace("FOREIGN", foreign) for word in words)
    ended = headgrid("robustness", *places)
    assert ended.code == 2
    assert ended.out == ""
    assert message in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(("text", "number"), [("8/255", 8 / 255), ("0.03", 0.03), ("1e-2", 0.01), ("1", 1.0)])
def test_numbers_may_be_fractions(text: str, number: float):
    assert fraction(text, "--epsilon") == number


@pytest.mark.parametrize("text", ["", "1/0", "8:255", "nan", "inf"])
def test_other_words_are_no_numbers(text: str):
    with pytest.raises(ValueError, match="--epsilon should be a number such as 8/255"):
        fraction(text, "--epsilon")
