"""Report, figures 6 and 7: a stack of attention layers, and hierarchical attention, as diagrams."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from headgrid.figures.style import COLORS, GREY, INK, in_style
from headgrid.stacks import Hierarchical, KeptKey, Plain, SharedWeights

KEPT_KEY = COLORS[1]
"""The line that brings the first key to all later layers."""

HEIGHT, LAYER_WIDTH, INPUT_WIDTH = 1.55, 1.55, 0.72
KEY, QUERY, VALUE, BUS = 1.33, 0.95, 0.57, 1.62
"""How high the parts of a layer stand, in inches; a kept key runs along the bus."""

PROJECTION, ATTENTION = 0.34, 1.02
"""Where in a layer they stand."""


@in_style
def stack_diagram(stack: Plain | Hierarchical, num_layers: int = 3) -> Figure:
    """Each layer projects its input to query, key and value; one colour stands for one set of weights.

    Residual connections, norms and the feed-forward layers are left out, as in the report.
    """
    if num_layers < 1:
        raise ValueError(f"a stack has at least one layer, got {num_layers}")
    shared = isinstance(stack, Hierarchical) and isinstance(stack.weights, SharedWeights)
    kept = isinstance(stack, Hierarchical) and isinstance(stack.key, KeptKey)
    width = INPUT_WIDTH + LAYER_WIDTH * num_layers + 0.12
    height = HEIGHT + (0.35 if kept else 0)
    figure = Figure(figsize=(width, height))
    axis = figure.add_axes((0, 0, 1, 1))
    axis.set(xlim=(0, width), ylim=(0, height))
    axis.axis("off")
    _box(axis, 0.29, QUERY, "input", "#EEEEEE", width=0.44)
    lefts = [INPUT_WIDTH + LAYER_WIDTH * layer for layer in range(num_layers)]
    for layer, left in enumerate(lefts):
        color = COLORS[0 if shared else (0, 2, 3, 4, 5, 1)[layer % 6]]
        _layer(axis, layer, left, color, own_key=layer == 0 or not kept, kept=kept)
    end = lefts[-1] + ATTENTION + 0.2
    _arrow(axis, (end, QUERY), (width - 0.03, QUERY))
    if kept and num_layers > 1:
        start, stop = lefts[0] + PROJECTION, lefts[-1] + ATTENTION
        axis.plot([start, start, stop], [KEY + 0.13, BUS, BUS], color=KEPT_KEY, linewidth=1.1)
        axis.text(
            (start + stop) / 2, BUS + 0.03, "key of the first layer", color=KEPT_KEY, ha="center", va="bottom"
        )
    axis.text(width / 2, 0.03, _in_words(shared, kept), ha="center", va="bottom", color=GREY)
    return figure


def _in_words(shared: bool, kept: bool) -> str:
    weights = "one set of weights for all layers" if shared else "every layer has weights of its own"
    return f"{weights}; {'one key' if kept else 'query, key and value are new in each'}"


def _layer(axis: Axes, layer: int, left: float, color: str, own_key: bool, kept: bool) -> None:
    """Projections to the left, attention to the right."""
    number = layer + 1
    attention = left + ATTENTION
    for letter, height in (("K", KEY), ("Q", QUERY), ("V", VALUE)):
        if letter == "K" and not own_key:
            continue
        index = "" if letter == "K" and kept else f"_{number}"
        _arrow(axis, (left - 0.19, QUERY), (left + PROJECTION - 0.16, height))
        _box(axis, left + PROJECTION, height, f"${letter}{index}$", color, width=0.30)
        _arrow(axis, (left + PROJECTION + 0.16, height), (attention - 0.2, QUERY + (height - QUERY) * 0.3))
    _box(axis, attention, QUERY, "attend", "white", width=0.38, edge=color)
    if not own_key:
        _arrow(axis, (attention, BUS), (attention, QUERY + 0.14), color=KEPT_KEY)
    axis.text(left + (PROJECTION + ATTENTION) / 2, 0.22, f"layer {number}", ha="center", va="bottom", color=INK)


def _box(
    axis: Axes, middle: float, height: float, words: str, color: str, width: float, edge: str = "none"
) -> None:
    axis.add_patch(
        FancyBboxPatch(
            (middle - width / 2, height - 0.13), width, 0.26,
            boxstyle="round,pad=0,rounding_size=0.05", facecolor=color, edgecolor=edge, linewidth=1.0, zorder=2,
        )
    )  # fmt: skip
    on_dark = color in COLORS
    axis.text(middle, height, words, ha="center", va="center", color="white" if on_dark else INK, zorder=3)


def _arrow(axis: Axes, start: tuple[float, float], end: tuple[float, float], color: str = GREY) -> None:
    axis.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=5, linewidth=0.7, color=color, shrinkA=0, shrinkB=0
        )
    )
