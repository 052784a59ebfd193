"""The measures of `headgrid analyze` on a screen: a table per layer, its sentence, and what the columns mean."""

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

from headgrid.analysis.measures import AttentionMeasures, HeadMeasures, LayerMeasures
from headgrid.analysis.recording import in_words
from headgrid.analysis.sentences import NO_CONTENT
from headgrid.cli.output import console_for_tables, print_table

WIDEST_PROSE = 110
"""Columns; longer lines are hard to read."""


@dataclass(frozen=True)
class Column:
    """A measure as it is printed."""

    title: str
    cell: Callable[[HeadMeasures], str]
    meaning: str
    """The sentence below the tables; empty where the column needs none, or another one says it."""


def _shift(shift: tuple[float, float]) -> str:
    row, column = (round(along, 1) + 0.0 for along in shift)  # the sum turns -0.0 into 0.0
    return f"{row:+.1f},{column:+.1f}"


def _content(variance: float | None) -> str:
    if variance is None:
        return "-"
    return "0" if variance <= NO_CONTENT else f"{variance:.3f}"


_CENTER = Column(
    "centre",
    lambda head: "-" if head.exact_center is None else _shift(head.exact_center),
    "Centre: the parameter of a quadratic head; borders pull the mean shift from it towards zero.",
)
_TOKENS = Column(
    "to tokens",
    lambda head: f"{head.token_share:.3f}",
    "To tokens: the share of its attention that a pixel gives to class tokens and registers; the rest is measured.",
)
_COLUMNS = (
    Column("head", lambda head: str(head.head), ""),
    Column(
        "peak",
        lambda head: "{:+d},{:+d}".format(*head.peak_shift),
        "Peak: the shift (rows, columns) with the most attention.",
    ),
    Column("mass", lambda head: f"{head.peak_mass:.3f}", "Mass: how much lies there; 1 in a convolution."),
    Column("mean shift", lambda head: _shift(head.mean_shift), ""),
    _CENTER,
    Column(
        "spread",
        lambda head: f"{head.spread:.2f}",
        "Mean shift and spread: of the attention around the query, in pixels of the layer's map.",
    ),
    Column(
        "pixels", lambda head: f"{math.exp(head.entropy):.1f}", "Pixels: so many a query looks at, exp(entropy)."
    ),
    Column(
        "distance",
        lambda head: f"{head.mean_distance:.2f}",
        "Distance: mean attention distance, in the same pixels.",
    ),
    Column(
        "reach",
        lambda head: f"{head.non_locality:.2f}",
        "Reach: non-locality, the distance in relation to that of looking everywhere.",
    ),
    Column(
        "content",
        lambda head: _content(head.content_variance),
        "Content: how much of the map changes with the image; 0 does not look at it.",
    ),
    Column(
        "invariant",
        lambda head: f"{head.translation_invariance:.3f}",
        "Invariant: 1 does the same at every pixel.",
    ),
    _TOKENS,
)


def print_measures(measures: AttentionMeasures) -> None:
    """All layers, those that were left out, and a legend of the columns."""
    console = console_for_tables()
    columns = _columns(measures)
    for layer in measures.layers:
        print(_wrapped(_title(layer), console.width))
        print_table(
            [column.title for column in columns],
            [[column.cell(head) for column in columns] for head in layer.heads],
        )
        console.print(_wrapped(layer.sentence, console.width), markup=False, soft_wrap=True)
        print()
    for line in in_words(measures.left_out):
        console.print(_wrapped(f"left out: {line}", console.width), markup=False, soft_wrap=True)
    meanings = " ".join(column.meaning for column in columns if column.meaning)
    print(_wrapped(f"{meanings} The pages in docs/concepts explain them.", min(console.width, WIDEST_PROSE)))


def _columns(measures: AttentionMeasures) -> list[Column]:
    """Centres and tokens only where there are some."""
    absent = []
    if all(head.exact_center is None for head in measures.heads):
        absent.append(_CENTER)
    if not any(head.token_share > 0 for head in measures.heads):
        absent.append(_TOKENS)
    return [column for column in _COLUMNS if column not in absent]


def _title(layer: LayerMeasures) -> str:
    heads = f"{len(layer.heads)} head{'s' if len(layer.heads) > 1 else ''}"
    sizes = " x ".join(f"{size:g}" for size in layer.pixel_size)
    of_image = "" if layer.pixel_size == (1.0, 1.0) else f", each {sizes} of the image"
    return f"{layer.layer}: {heads} on {layer.grid[0]} x {layer.grid[1]} pixels{of_image}"


def _wrapped(text: str, width: int) -> str:
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
