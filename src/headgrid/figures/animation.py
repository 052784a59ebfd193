"""Figures one after the other as a moving picture: GIF through Pillow, MP4 through ffmpeg where it is installed."""

import io
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np
from jaxtyping import UInt8
from matplotlib.figure import Figure
from numpy import ndarray
from PIL import Image

from headgrid.training.files import commit, temporary_name

DOTS_PER_INCH = 200


def has_ffmpeg() -> bool:
    return shutil.which("ffmpeg") is not None


def save_animation(frames: Iterable[Figure], path: Path, frames_per_second: float = 10.0) -> None:
    """Writes a .gif or an .mp4 file, whole or not at all. Frames must be of one size; the last one of a GIF stays.

    Frames are drawn one at a time, so that a generator of many needs the memory of few.
    """
    if path.suffix not in (".gif", ".mp4"):
        raise ValueError(f"{path} should be a file that ends in .gif or .mp4")
    if path.suffix == ".mp4" and not has_ffmpeg():
        raise ValueError(f"{path}: MP4 files need the program ffmpeg, which is not installed; write a .gif instead")
    path.parent.mkdir(parents=True, exist_ok=True)
    pictures = (picture_of(frame) for frame in frames)
    first = next(pictures, None)
    if first is None:
        raise ValueError("an animation needs at least one frame")
    if path.suffix == ".gif":
        _write_gif(temporary_name(path), chain([first], pictures), frames_per_second)
    else:
        _write_mp4(temporary_name(path), chain([first], pictures), first.shape[:2], frames_per_second)
    commit(path)


def picture_of(figure: Figure) -> UInt8[ndarray, "h w 3"]:
    """The pixels of a figure; an even number of rows and columns, as video formats want it."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=DOTS_PER_INCH)
    with Image.open(file) as image:
        pixels = np.asarray(image.convert("RGB"))
    rows, columns = pixels.shape[:2]
    return np.pad(pixels, ((0, rows % 2), (0, columns % 2), (0, 0)), constant_values=255)


def _write_gif(path: Path, pictures: Iterator[UInt8[ndarray, "h w 3"]], frames_per_second: float) -> None:
    images = [Image.fromarray(picture).quantize(128, dither=Image.Dither.NONE) for picture in pictures]
    duration = round(1000 / frames_per_second)
    durations = [duration] * (len(images) - 1) + [max(duration, 2000)]
    images[0].save(path, format="GIF", save_all=True, append_images=images[1:], duration=durations, loop=0)


def _write_mp4(
    path: Path, pictures: Iterator[UInt8[ndarray, "h w 3"]], size: tuple[int, int], frames_per_second: float
) -> None:
    rows, columns = size
    command = [
        "ffmpeg", "-loglevel", "error", "-y",
        "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{columns}x{rows}", "-r", str(frames_per_second), "-i", "-",
        "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-f", "mp4", str(path),
    ]  # fmt: skip
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as ffmpeg:
        assert ffmpeg.stdin is not None
        assert ffmpeg.stderr is not None
        broken = False
        try:
            for picture in pictures:
                ffmpeg.stdin.write(picture.tobytes())
            ffmpeg.stdin.close()
        except BrokenPipeError:
            broken = True
        message = ffmpeg.stderr.read().decode(errors="replace").strip()
    if broken or ffmpeg.returncode:
        path.unlink(missing_ok=True)
        raise ValueError(f"ffmpeg could not write the animation: {message or f'exit code {ffmpeg.returncode}'}")
