"""Which image files a folder of class folders holds; remembered, because listing a million files takes minutes.

The list is kept in the cache, under the folder's path, together with the time of change of every class folder.
A file that comes, goes or gets another name changes that time, and then the folder is listed again.
"""

import hashlib
import json
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Int64
from torch import Tensor

from headgrid.axes import Labels
from headgrid.data.data_folders import cache_folder
from headgrid.data.progress import progress

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".ppm", ".tif", ".tiff")

SECONDS_TO_SETTLE = 2.0
"""A change that follows another so fast may leave the time of change as it is (file systems count coarsely)."""


@dataclass(frozen=True)
class FolderIndex:
    class_names: tuple[str, ...]
    files: tuple[str, ...]
    """Full paths, class by class, each in the order of the alphabet."""
    labels: Labels

    def select(self, indices: Int64[Tensor, "i"]) -> "FolderIndex":
        files = tuple(self.files[index] for index in indices.tolist())
        return FolderIndex(self.class_names, files, self.labels[indices])


def class_folders(folder: Path) -> tuple[str, ...]:
    """Names of the classes in the order of the alphabet, which is the order of their labels."""
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}; an image folder holds train/<class>/<image>")
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries if entry.is_dir() and not entry.name.startswith("."))
    if len(names) < 2:
        raise ValueError(f"{folder} holds {len(names)} class folders, but telling classes apart takes two")
    return tuple(names)


def read_index(folder: Path) -> FolderIndex:
    """The images of every class, from the cache or from the folder itself."""
    folder = folder.resolve()
    names = class_folders(folder)
    changed = {name: os.stat(folder / name).st_mtime_ns for name in names}
    cache_file = cache_folder() / "image-folders" / f"{hashlib.sha256(os.fsencode(folder)).hexdigest()[:32]}.json"
    images = _remembered(cache_file, changed)
    if images is None:
        images = _list(folder, names)
        if time.time() - max(changed.values()) / 1e9 > SECONDS_TO_SETTLE:
            _remember(cache_file, {"folder": str(folder), "changed": changed, "images": images})
    for name in names:
        if not images[name]:
            raise ValueError(
                f"the class folder {folder / name} holds no image ({', '.join(SUFFIXES)}); fill or remove it"
            )
    files = tuple(os.path.join(folder, name, file) for name in names for file in images[name])
    counts = torch.tensor([len(images[name]) for name in names])
    return FolderIndex(names, files, torch.arange(len(names)).repeat_interleave(counts))


def _list(folder: Path, names: tuple[str, ...]) -> dict[str, list[str]]:
    images = {}
    with progress(f"listing {folder}", len(names)) as advance:
        for name in names:
            with os.scandir(folder / name) as entries:
                found = [entry.name for entry in entries if entry.name.lower().endswith(SUFFIXES)]
            images[name] = sorted(file for file in found if not file.startswith("."))
            advance(1)
    return images


def _remembered(cache_file: Path, changed: dict[str, int]) -> dict[str, list[str]] | None:
    try:
        content = json.loads(cache_file.read_bytes())
        return content["images"] if content["changed"] == changed else None
    except (OSError, ValueError, KeyError, TypeError):  # absent or damaged: list the folder again
        return None


def _remember(cache_file: Path, content: dict[str, Any]) -> None:
    try:
        cache_file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=cache_file.parent, suffix=".tmp", delete=False) as stream:
            json.dump(content, stream)
        os.replace(stream.name, cache_file)
    except OSError:  # no place to write: the next run lists the folder again
        return
