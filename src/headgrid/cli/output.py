"""What verbs print on standard output: tables for people, JSON for programs."""

import json
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

_WIDTH_OF_FILES = 1000
"""Columns where standard output is no terminal and so has no width: every row stays on one line."""


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, allow_nan=False))


def console_for_tables() -> Console:
    """Standard output, wide enough for a table where it is a file or a pipe."""
    return Console(width=None if sys.stdout.isatty() else _WIDTH_OF_FILES, highlight=False)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], note: str | None = None) -> None:
    """Words to the left, columns of numbers to the right.

    Cells wrap between words where they have to, but for the first of a row: names are there to be typed. On a
    screen too narrow for that every row becomes a paragraph, so that nothing is ever cut.
    """
    console = console_for_tables()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for index, column in enumerate(columns):
        cells = [row[index] for row in rows]
        numbers = all(cell[:1].isdigit() or cell in ("", "-") for cell in cells)
        unbroken = column.split() + (cells if index == 0 or numbers else " ".join(cells).split())
        table.add_column(
            column,
            justify="right" if numbers else "left",
            no_wrap=index == 0,
            min_width=max(map(len, unbroken)),
        )
    for row in rows:
        table.add_row(*row)
    narrowest = sum((column.min_width or 0) + 2 for column in table.columns)
    if narrowest <= console.width:
        console.print(table, markup=False)
    else:
        for name, *cells in rows:
            described = "; ".join(
                f"{column}: {cell}" for column, cell in zip(columns[1:], cells, strict=True) if cell
            )
            console.print(Text(name, "bold"), Padding(Text(described), (0, 0, 0, 4)), sep="\n")
    if note:
        console.print(f"\n{note}", markup=False)
