"""From a figure to files: vector and PNG, whole or absent, the same bytes for the same figure."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import matplotlib
from matplotlib.figure import Figure

from headgrid.figures.style import STYLE
from headgrid.training.files import commit, temporary_name

Format = Literal["pdf", "png", "svg"]

_WITHOUT_DATE = {"pdf": {"CreationDate": None, "Creator": "headgrid"}, "svg": {"Date": None}, "png": {}}


def save_figure(figure: Figure, folder: Path, name: str, formats: Sequence[Format]) -> list[Path]:
    """Writes ``folder/name.pdf`` and so on; returns the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for kind in formats:
        path = folder / f"{name}.{kind}"
        with matplotlib.rc_context(STYLE):
            figure.savefig(temporary_name(path), format=kind, metadata=_WITHOUT_DATE[kind])
        commit(path)
        paths.append(path)
    return paths
