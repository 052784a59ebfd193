"""Figures as files: vector and PNG, moving pictures; whole or absent, the same bytes every time."""

import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure
from PIL import Image

from headgrid.figures.animation import picture_of, save_animation
from headgrid.figures.saving import save_figure
from headgrid.figures.style import COLORS, HEAD_COLORS

FFMPEG = """#!/usr/bin/env python3
import sys
data = sys.stdin.buffer.read()
open(sys.argv[-1], "wb").write(data)
open(sys.argv[-1] + ".words", "w").write(" ".join(sys.argv))
"""
"""Keeps the frames as they come."""


def figure(side: float = 0.51, color: str = "red") -> Figure:
    made = Figure(figsize=(side, 0.4))
    made.add_axes((0, 0, 1, 1)).imshow(np.zeros((1, 1)), aspect="auto")
    made.text(0.2, 0.5, "a", color=color)
    return made


def test_the_same_figure_gives_the_same_files(tmp_path):
    formats = ("pdf", "png", "svg")
    paths = save_figure(figure(), tmp_path / "a", "name", formats)
    assert [path.name for path in paths] == ["name.pdf", "name.png", "name.svg"]
    again = save_figure(figure(), tmp_path / "b", "name", formats)
    assert [path.read_bytes() for path in paths] == [path.read_bytes() for path in again]
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == sorted(path.name for path in paths)
    with Image.open(paths[1]) as image:
        assert image.size == (153, 120)  # 300 dots per inch
        assert image.info["dpi"] == pytest.approx((300, 300), rel=1e-3)
    assert paths[0].read_bytes().startswith(b"%PDF")
    assert b"<svg" in paths[2].read_bytes()


def test_a_gif_has_a_picture_for_each_frame_and_rests_on_the_last(tmp_path):
    path = tmp_path / "new" / "moving.gif"
    save_animation((figure(color=color) for color in ("red", "green", "blue")), path, 5.0)
    with Image.open(path) as image:
        durations = []
        for frame in range(image.n_frames):
            image.seek(frame)
            durations.append(image.info["duration"])
        assert durations == [200, 200, 2000]
        assert image.info["loop"] == 0
        assert image.size == (102, 80)
    assert [each.name for each in path.parent.iterdir()] == ["moving.gif"]


def test_pictures_have_even_sides():
    assert picture_of(figure(0.505)).shape == (80, 102, 3)


def test_mp4_needs_ffmpeg(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match=r"need the program ffmpeg, which is not installed; write a \.gif instead"):
        save_animation([figure()], tmp_path / "a.mp4")
    assert not (tmp_path / "a.mp4").exists()


def program(folder: Path, text: str) -> None:
    folder.mkdir()
    (folder / "ffmpeg").write_text(text)
    (folder / "ffmpeg").chmod(0o755)


@pytest.mark.skipif(os.name != "posix", reason="the program is a script")
def test_ffmpeg_gets_the_frames(tmp_path, monkeypatch):
    program(tmp_path / "bin", FFMPEG)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    colors = ("red", "green")
    save_animation((figure(color=color) for color in colors), tmp_path / "a.mp4", 4.0)
    frames = b"".join(picture_of(figure(color=color)).tobytes() for color in colors)
    assert (tmp_path / "a.mp4").read_bytes() == frames
    (said,) = (path.read_text() for path in tmp_path.iterdir() if path.name.endswith(".words"))
    assert "-s 102x80 -r 4.0" in said


@pytest.mark.skipif(os.name != "posix", reason="the program is a script")
def test_what_ffmpeg_says_is_passed_on(tmp_path, monkeypatch):
    program(tmp_path / "bin", "#!/bin/sh\necho 'unknown encoder' >&2\nexit 3\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with pytest.raises(ValueError, match="could not write the animation: unknown encoder"):
        save_animation([figure(side) for side in (3.0, 3.0)], tmp_path / "a.mp4")
    assert [path.name for path in tmp_path.iterdir()] == ["bin"]


@pytest.mark.parametrize(
    ("name", "frames", "message"), [("a.avi", 1, r"ends in \.gif or \.mp4"), ("a.gif", 0, "at least one")]
)
def test_animations_that_cannot_be(tmp_path, name, frames, message):
    with pytest.raises(ValueError, match=message):
        save_animation([figure()] * frames, tmp_path / name)


# What the two kinds of red-green blindness leave of a colour in linear light (Vienot, Brettel and Mollon, 1999).
DEUTERANOPE = np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]])
PROTANOPE = np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]])


@pytest.mark.parametrize("palette", [COLORS, HEAD_COLORS])
@pytest.mark.parametrize("seen", [np.eye(3), DEUTERANOPE, PROTANOPE])
def test_colours_can_be_told_apart_without_red_or_green(palette, seen):
    """The distance of any two colours, as seen, stays well above what is just noticed in CIELAB, 2.3."""
    colors = [lab(seen @ linear(color)) for color in palette]
    distances = [np.linalg.norm(a - b) for i, a in enumerate(colors) for b in colors[:i]]
    assert min(distances) > 15


def linear(color: str) -> np.ndarray:
    values = np.array([int(color[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIELAB with the white point D65."""
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ rgb.clip(0, 1)
    x, y, z = np.cbrt(np.maximum(xyz / (0.9505, 1.0, 1.089), 1e-4))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])
