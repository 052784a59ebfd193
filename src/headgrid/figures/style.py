"""One look for all figures: sizes for print, colours that colour-blind readers can tell apart, plain type.

A figure is as wide as the text of the ICLR paper or narrower, so that its type has the size that it says when the
figure is put on the page unscaled.
"""

from typing import Any

import matplotlib
from matplotlib.colors import LinearSegmentedColormap, Normalize, to_rgb

TEXT_WIDTH = 5.5
"""Inches: the width of the text in the ICLR paper, and close to that of most papers with one column."""

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Curves, in this order: the palette of Okabe and Ito without its yellow, which is too light for thin lines."""

LINE_STYLES = ("-", "--", ":", "-.")
"""Curves beyond the last colour begin again with the next of these."""

HEAD_COLORS = (
    "#332288", "#CC6677", "#117733", "#88CCEE", "#DDCC77", "#AA4499", "#44AA99", "#999933", "#882255",
)  # fmt: skip
"""Nine colours for the nine heads of the papers (Paul Tol, "muted"); more heads repeat them with other dots."""

HEAD_MARKERS = ("o", "s", "^", "D")
"""The dots of the first nine heads, of the next nine, and so on."""

QUERY = "#D55E00"
"""The frame around a query pixel on a map or an image."""

INK, GREY, LIGHT = "#222222", "#6E6E6E", "#D9D9D9"

ATTENTION = LinearSegmentedColormap.from_list("attention", ("#FFFFFF", "#D1E2F3", "#6BA6D6", "#21599B", "#081D58"))
"""Weights that are never negative: white is nothing."""

SIGNED = matplotlib.colormaps["PuOr_r"]
"""Weights of either sign (patchwise attention has no softmax): white is nothing, violet less, orange more."""

HEAT = LinearSegmentedColormap.from_list(
    "heat", ((1.0, 0.8, 0.1, 0.0), (0.95, 0.55, 0.0, 0.75), (0.75, 0.1, 0.0, 0.9))
)
"""Weights over an image: what gets none stays as it is."""

SIGNED_HEAT = LinearSegmentedColormap.from_list(
    "signed heat",
    ((0.2, 0.05, 0.5, 0.9), (0.35, 0.3, 0.8, 0.7), (0.6, 0.6, 0.9, 0.0), *HEAT((0.01, 0.5, 1.0))),
)
"""Weights of either sign over an image: violet is negative."""

FONT = "DejaVu Sans"
"""Comes with matplotlib, so that a figure is the same on every machine."""

TYPE_SIZE, TITLE_SIZE = 7.0, 8.0
"""Points."""

STYLE: dict[Any, Any] = {
    "font.family": FONT,
    "mathtext.fontset": "dejavusans",
    "font.size": TYPE_SIZE,
    "axes.titlesize": 7,
    "axes.labelsize": 7,
    "xtick.labelsize": 6,
    "ytick.labelsize": 6,
    "legend.fontsize": 6.5,
    "figure.titlesize": TITLE_SIZE,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 1.2,
    "patch.linewidth": 0.8,
    "grid.color": LIGHT,
    "grid.linewidth": 0.4,
    "legend.frameon": False,
    "image.interpolation": "none",  # vector files keep the pixels of a map as they are
    "image.cmap": "Blues",
    "figure.dpi": 150,
    "savefig.dpi": 300,
    "pdf.fonttype": 42,  # text stays text
    "svg.fonttype": "path",
    "svg.hashsalt": "headgrid",  # the same figure gives the same file
}
"""What matplotlib calls its rc parameters."""

in_style = matplotlib.rc_context(STYLE)
"""Decorates the functions that make figures; nothing outside of them changes."""


def head_color(head: int) -> str:
    return HEAD_COLORS[head % len(HEAD_COLORS)]


def darker(color: str) -> tuple[float, float, float]:
    """The colour for type, which is thin: light colours are hard to read on white."""
    red, green, blue = to_rgb(color)
    lightness = 0.3 * red + 0.6 * green + 0.1 * blue
    factor = min(1.0, 0.42 / max(lightness, 1e-6))
    return red * factor, green * factor, blue * factor


def head_marker(head: int) -> str:
    return HEAD_MARKERS[head // len(HEAD_COLORS) % len(HEAD_MARKERS)]


def map_scale(largest: float, signed: bool) -> Normalize:
    """The scale of `ATTENTION`, from zero on, or that of `SIGNED`, symmetric around it."""
    largest = max(largest, 1e-12)
    return Normalize(-largest if signed else 0, largest)
