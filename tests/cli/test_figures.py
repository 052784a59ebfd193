"""`headgrid figures`: by name, of runs, files and foreign models; what does not apply is said."""

import os
import sys

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("matplotlib")

from headgrid.cli.figures.kinds import FIGURES, chosen_figures
from headgrid.figures.style import STYLE

from .conftest import Headgrid
from .figure_subjects import FOREIGN, save, train, write_images

ALWAYS = (
    "layer-illustration", "fitted-ellipses", "attention-maps", "mean-attention-maps", "average-attention",
    "overlay", "overlay-grid",
)  # fmt: skip
"""Drawn of every model with attention."""


@pytest.fixture(scope="module")
def quadratic_run(tmp_path_factory):
    return train("quadratic-generalized", tmp_path_factory.mktemp("runs") / "quadratic")


def names_in_papers(paper: str) -> set[str]:
    return {name.removeprefix(paper) for kind in FIGURES.values() for name in kind.names_in_papers if paper in name}


def test_every_figure_of_both_papers_has_a_name():
    assert {str(number) for number in range(1, 9)} == names_in_papers("iclr-")
    # The schematic figures of the report are 6 and 7; its figures of two parts have the letters a and b.
    assert {str(number) for number in range(1, 24)} <= names_in_papers("report-")
    for number in (8, *range(9, 18), *range(20, 24)):
        assert chosen_figures([f"report-{number}a"]) == ["attention-maps"]
        assert chosen_figures([f"report-{number}b"]) == ["average-attention"]
        assert chosen_figures([f"report-{number}"]) == ["attention-maps", "average-attention"]


def test_figures_are_chosen_by_their_names_and_by_the_papers_numbers():
    assert chosen_figures([]) == list(FIGURES)
    assert chosen_figures(["overlay", "iclr-3", "ellipses"]) == ["centers-of-layers", "ellipses", "overlay"]
    assert chosen_figures(["iclr-5", "attention-maps"]) == ["attention-maps"]
    assert chosen_figures(["report-18"]) == ["footprint-maps"]


def test_help_lists_every_figure_with_its_numbers(headgrid: Headgrid):
    ended = headgrid("figures", "--help")
    assert ended.code == 0
    for name, kind in FIGURES.items():
        assert f"  {name} ({kind.in_papers})\n" in ended.out or (not kind.in_papers and f"  {name}\n" in ended.out)
        assert kind.shows in ended.out
    assert "attention-maps (ICLR 5; report 3, 8a-17a, 20a-23a)" in ended.out


def test_all_figures_of_a_run(headgrid: Headgrid, quadratic_run, monkeypatch):
    monkeypatch.setitem(STYLE, "savefig.dpi", 60)
    ended = headgrid("figures", quadratic_run, "--formats", "png", "--mean-over", 3, "--query", 9, 20)
    assert ended.code == 0, ended.err
    folder = quadratic_run / "figures"
    drawn = {path.name for path in folder.iterdir()}
    of_one_image = {"layer-illustration", "attention-maps", "average-attention", "overlay"}
    expected = [
        f"{name}-image-0.png" if name in of_one_image else f"{name}.png"
        for name in (
            *ALWAYS,
            "centers-during-training",
            "centers-of-layers",
            "centers-over-epochs",
            "ellipses",
            "accuracy-curves",
            "normal-attention-diagram",
        )
    ]
    assert {*expected, "centers-animation.gif"} <= drawn
    for path in folder.iterdir():
        assert path.stem in ended.out
        if path.suffix == ".mp4":  # beside the GIF, where ffmpeg is installed
            continue
        with Image.open(path) as image:
            assert len(np.unique(image.convert("L"))) > 3  # something is drawn
    with Image.open(folder / "centers-animation.gif") as animation:
        assert animation.n_frames == 3  # before the training, and after each of two epochs
    assert "not drawn: footprint-maps: only SAN attends within footprints" in ended.out
    assert "not drawn: class-token-overlay, class-token-grid: it has no class token" in ended.out


def test_formats_folders_and_several_runs(headgrid: Headgrid, quadratic_run, trained, tmp_path):
    ended = headgrid(
        "figures", quadratic_run, trained, "--only", "iclr-4", "normal-attention-diagram", "--out", "out",
        "--formats", "pdf", "svg",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    drawn = sorted(str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.*"))
    assert drawn == [
        "accuracy-curves.pdf", "accuracy-curves.svg", "quadratic/normal-attention-diagram.pdf",
        "quadratic/normal-attention-diagram.svg",
    ]  # fmt: skip
    assert "not drawn: normal-attention-diagram: it has no stack of attention layers" in ended.out


@pytest.mark.skipif(os.name != "posix", reason="the program is a script")
def test_animations_are_mp4_too_where_ffmpeg_is_installed(headgrid: Headgrid, quadratic_run, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ffmpeg").write_text('#!/bin/sh\nfor last; do :; done\ncat > "$last"\n')
    (tmp_path / "bin" / "ffmpeg").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    ended = headgrid("figures", quadratic_run, "--only", "centers-animation", "--out", "out")
    assert ended.code == 0, ended.err
    assert "centers-animation.gif .mp4" in ended.out
    with Image.open(tmp_path / "out" / "centers-animation.gif") as animation:
        columns, rows = animation.size
    # What the program was given: red, green and blue of each pixel of three frames.
    assert (tmp_path / "out" / "centers-animation.mp4").stat().st_size == 3 * 3 * rows * columns


def test_a_foreign_model_with_a_class_token_and_pictures_of_ones_own(headgrid: Headgrid, tmp_path):
    (tmp_path / "somebodys_network.py").write_text(FOREIGN)
    Image.new("RGB", (90, 60), (200, 30, 30)).save(tmp_path / "a cat.png")
    only = (
        "attention-maps",
        "class-token-overlay",
        "class-token-grid",
        "overlay-grid",
        "hierarchical-attention-diagram",
    )
    ended = headgrid(
        "figures", "module:somebodys_network.Net", "--data", "embedded", "--images", "a cat.png", 3,
        "--formats", "png", "--only", *only,
    )  # fmt: skip
    assert ended.code == 2
    assert ended.err == (
        "headgrid: hierarchical-attention-diagram was not drawn: diagrams are drawn of headgrid's own models\n"
    )
    assert sorted(
        path.name for path in (tmp_path / "figures" / "module-somebodys_network.Net").iterdir()
    ) == sorted(
        [
            *(f"{name}-image-{image}.png" for name in only[:2] for image in ("a cat", "3")),
            "class-token-grid.png",
            "overlay-grid.png",
        ]
    )
    assert headgrid("figures", "module:somebodys_network.Net").err == (
        "headgrid: module:somebodys_network.Net does not say what it was trained on: name the images with --data\n"
    )
    assert (
        "does not say which images it takes, so a cat.png cannot be prepared"
        in headgrid("figures", "module:somebodys_network.Net", "--images", "a cat.png").err
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--only", "attention-map"),
            "--only attention-map: there is no such figure: did you mean 'attention-maps'?",
        ),
        (("--only", "iclr-9"), "--only iclr-9: there is no such figure: did you mean"),
        (("--only", "xyz"), "expected one of layer-illustration, centers-during-training"),
        (("--only", "footprint-maps"), "nothing was drawn: only SAN attends within footprints"),
        (
            ("--only", "overlay", "--query", "32", "0"),
            "--query 32 0: the images have 32 x 32 pixels, counted from 0",
        ),
        (
            ("--only", "overlay", "--images", "12"),
            "--images 12: embedded has 12 test images, counted from 0",
        ),
        (
            ("--only", "overlay", "--images", "nothing.png"),
            "expected the number of an image of the data, or an image",
        ),
        (("--only", "overlay", "--images", "2", "2"), "--images names 2 twice"),
        (("--only", "iclr-2", "--layer", "3"), "has the layers 1 to 2"),
        (("--mean-over", "0"), "--mean-over should be at least 1, not 0"),
        (("--formats",), "--formats should name at least one of pdf, png and svg"),
    ],
)
def test_wrong_options_get_one_sentence(headgrid: Headgrid, quadratic_run, words, message):
    ended = headgrid("figures", quadratic_run, *words)
    assert ended.code == 2
    assert message in ended.err
    assert ended.err.count("\n") == 1


def test_models_without_attention_and_paths_without_models(headgrid: Headgrid, trained, tmp_path):
    ended = headgrid("figures", trained, "--only", "attention-maps")
    assert (ended.code, ended.err) == (2, "headgrid: nothing was drawn: it is a ResNet, which has no attention\n")
    ended = headgrid("figures", trained, "--formats", "png", "--out", "out")
    assert ended.code == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["accuracy-curves.png"]
    assert headgrid("figures", "nowhere").err.startswith("headgrid: nowhere does not exist: expected a run folder")
    assert headgrid("figures").code == 2
    (tmp_path / "picture.png").write_bytes(b"no picture")
    san = save("report-san-pairwise", tmp_path)
    images = write_images(tmp_path / "images")
    for word, message in (("picture.png", "the file cannot be read as an image"), ("5", "has 5 test images")):
        ended = headgrid("figures", san, "--data", images, "--only", "overlay", "--images", word)
        assert ended.code == 2
        assert message in ended.err


def test_two_models_do_not_write_into_one_folder(headgrid: Headgrid, quadratic_run, tmp_path):
    ended = headgrid("figures", quadratic_run, quadratic_run, "--only", "centers-of-layers", "--out", "out")
    assert ended.code == 2
    assert "would go into one folder" in ended.err
    assert not (tmp_path / "out").exists()


def test_without_matplotlib(headgrid: Headgrid, monkeypatch):
    for name in [
        name for name in sys.modules if name.partition(".")[0] == "matplotlib" or name == "headgrid.figures"
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert headgrid("figures", "--help").code == 0
    ended = headgrid("figures", "somewhere")
    assert (ended.code, ended.err) == (2, "headgrid: figures need matplotlib: pip install 'headgrid[figures]'\n")
