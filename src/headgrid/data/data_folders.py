"""Where data sets are looked for, and where they are put when they are fetched."""

import os
from pathlib import Path


def data_folders(directory: Path | None) -> list[Path]:
    """The folder somebody names, `$HEADGRID_DATA`, the cache: first to last, as far as they are given."""
    named = [directory] if directory is not None else []
    if from_environment := os.environ.get("HEADGRID_DATA"):
        named.append(Path(from_environment))
    return [folder.expanduser() for folder in (*named, cache_folder())]


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/headgrid`, by default `~/.cache/headgrid`."""
    caches = os.environ.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path.home() / ".cache") / "headgrid"
