"""`headgrid report` and `headgrid demo`: a page about a run."""

import re
from dataclasses import replace

import pytest

from headgrid.cli.main import main
from headgrid.data import Embedded
from headgrid.experiments import demo as demo_module
from headgrid.experiments import make_experiment, run, shorten


@pytest.fixture(scope="module")
def quadratic_run(tmp_path_factory):
    experiment = shorten(make_experiment("quadratic", "tiny"), 1)
    folder = tmp_path_factory.mktemp("runs") / "quadratic"
    run(replace(experiment, data=Embedded(num_train=100, num_validation=50, num_test=50)), folder)
    return folder


def test_report_shows_the_run(quadratic_run, tmp_path, capsys):
    page, picture = tmp_path / "pages" / "page.html", tmp_path / "pictures" / "centers.svg"
    assert main(["report", str(quadratic_run), "--out", str(page), "--picture", str(picture)]) == 0
    assert str(page) in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    assert "Test accuracy" in text
    assert text.count("<h2>Attention on a test image</h2>") == 2
    # Two layers of nine heads for each of two images, and the images.
    assert len(re.findall(r'<img src="data:image/png', text)) == 2 * (2 * 9 + 1)
    assert picture.read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--images", "50"], "there is no test image 50"),
        (["--query", "8", "0"], "outside of the map of 8 x 8"),
    ],
)
def test_wrong_images_and_queries_get_one_sentence(quadratic_run, capsys, words, message):
    assert main(["report", str(quadratic_run), *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1


def test_report_needs_a_run(tmp_path, capsys):
    assert main(["report", str(tmp_path / "nothing")]) == 2
    assert "does not exist" in capsys.readouterr().err


def test_demo_trains_reports_and_can_be_repeated(tmp_path, capsys, monkeypatch):
    experiment = shorten(make_experiment("quadratic", "tiny"), 1)
    small = replace(experiment, name="demo", data=Embedded(num_train=100, num_validation=50, num_test=50))
    monkeypatch.setattr("headgrid.cli.demo.demo", lambda: small)
    for _ in range(2):
        assert main(["demo", "--run", str(tmp_path / "demo")]) == 0
        output = capsys.readouterr().out
        assert "guessing: 10.0%" in output
        assert str(tmp_path / "demo" / "report.html") in output


@pytest.mark.slow
def test_demo_learns(tmp_path, capsys):
    assert main(["demo", "--run", str(tmp_path / "demo")]) == 0
    accuracy = float(re.search(r"test images: ([0-9.]+)%", capsys.readouterr().out)[1])  # type: ignore[index]
    assert accuracy > 80


def test_demo_is_the_quadratic_model():
    experiment = demo_module.demo()
    assert experiment.model.grid == (16, 16)
    assert experiment.data.num_classes == 10
