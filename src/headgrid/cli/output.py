"""What verbs print on standard output: tables for people, JSON for programs."""

import json
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

_WIDTH_OF_FILES = 160
"""Columns where standard output is no terminal and so has no width."""


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, allow_nan=False))


def console_for_tables() -> Console:
    """Standard output, wide enough for a table where it is a file or a pipe."""
    return Console(width=None if sys.stdout.isatty() else _WIDTH_OF_FILES, highlight=False)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], note: str | None = None) -> None:
    """Words to the left, columns of numbers to the right."""
    console = console_for_tables()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for index, column in enumerate(columns):
        numbers = all(row[index][:1].isdigit() or row[index] in ("", "-") for row in rows)
        table.add_column(column, justify="right" if numbers else "left")
    for row in rows:
        table.add_row(*row)
    console.print(table, markup=False)
    if note:
        console.print(f"\n{note}", markup=False)
