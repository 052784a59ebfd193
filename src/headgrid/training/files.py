"""Files that are whole or absent: replaced atomically, or grown by whole lines.

A process may be killed between any two instructions. A file that is replaced is written under a temporary name in
the same folder and renamed; a file of JSON lines may lose its last, unfinished line and nothing else.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

TEMPORARY = ".tmp"
"""Ending of unfinished files. What a killed process left of them is removed by `remove_leftovers`."""

Row = dict[str, Any]
"""One line of a file of JSON lines."""


def temporary_name(path: Path) -> Path:
    return path.with_name(f".{path.name}{TEMPORARY}")


def remove_leftovers(folder: Path) -> None:
    for path in folder.glob(f".*{TEMPORARY}"):
        path.unlink(missing_ok=True)


def commit(path: Path) -> None:
    """Move the finished temporary file of `path` into its place, safe against a loss of power too."""
    temporary = temporary_name(path)
    with open(temporary, "rb+") as file:
        os.fsync(file.fileno())
    os.replace(temporary, path)
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_text(path: Path, text: str) -> None:
    temporary_name(path).write_text(text, encoding="utf-8")
    commit(path)


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is damaged (no JSON: {error}): remove it or restore it from a copy") from error


def append_row(path: Path, row: Row) -> None:
    """Add one line. NaN and infinity are refused: they are no JSON, and no reader should meet them."""
    line = json.dumps(row, allow_nan=False) + "\n"
    with open(path, "ab") as file:
        file.write(line.encode())
        file.flush()
        os.fsync(file.fileno())


def _lines(path: Path) -> list[bytes]:
    if not path.exists():
        return []
    lines = path.read_bytes().splitlines(keepends=True)
    # A line without its end was cut short by a kill.
    return lines if not lines or lines[-1].endswith(b"\n") else lines[:-1]


def read_rows(path: Path) -> list[Row]:
    rows = []
    for number, line in enumerate(_lines(path), start=1):
        try:
            rows.append(json.loads(line))
        except ValueError as error:
            raise ValueError(f"{path}, line {number} is damaged: expected one JSON object per line") from error
    return rows


def keep_rows(path: Path, keep: Callable[[Row], bool]) -> None:
    """Remove the rows that are not to be kept, and an unfinished last line; kept lines stay byte by byte."""
    if not path.exists():
        return
    kept = [line for line, row in zip(_lines(path), read_rows(path), strict=True) if keep(row)]
    temporary_name(path).write_bytes(b"".join(kept))
    commit(path)
