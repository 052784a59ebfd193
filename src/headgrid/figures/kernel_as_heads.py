"""Theorem 1 as a picture: a convolution kernel beside the attention heads that compute it."""

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy import ndarray

QUERY = "#d1495b"


def kernel_as_heads(
    kernel: Float[ndarray, "rows columns"],
    maps: Float[ndarray, "n y x"],
    query: tuple[int, int],
    title: str = "",
) -> Figure:
    """The kernel's elements to the left; to the right, at the same places, the map of the head that reads each.

    ``maps`` are the attention weights of one query pixel (red frame), heads in the kernel's row-major order, and
    the number over a map is what the head's result is multiplied by: the kernel's element.
    """
    num_rows, num_columns = kernel.shape
    if len(maps) != num_rows * num_columns:
        raise ValueError(
            f"a {num_rows} x {num_columns} kernel is computed by {num_rows * num_columns} heads, got {len(maps)}"
        )
    height, width = maps.shape[1:]
    map_width, map_height = (1.5, 1.5 * height / width) if width >= height else (1.5 * width / height, 1.5)
    heads_width, heads_height = num_columns * map_width, num_rows * (map_height + 0.3)
    figure = Figure(figsize=(heads_height + heads_width + 1.6, heads_height + 0.8), dpi=150)
    left, right = figure.subfigures(1, 2, width_ratios=(heads_height + 0.4, heads_width + 1.2), squeeze=False)[0]
    norm = TwoSlopeNorm(0, *_symmetric(kernel))
    _draw_kernel(left.subplots(), kernel, norm)
    left.suptitle(f"a {num_rows} x {num_columns} kernel")

    axes = np.atleast_2d(right.subplots(num_rows, num_columns, squeeze=False))
    image = None
    for head, (axis, element) in enumerate(zip(axes.flat, kernel.flat, strict=True)):
        image = axis.imshow(maps[head], cmap="Greys", vmin=0, vmax=1, extent=(0, width, height, 0))
        axis.add_patch(Rectangle((query[1], query[0]), 1, 1, fill=False, edgecolor=QUERY, linewidth=1.5))
        axis.set_title(_signed(float(element)), fontsize=9, pad=3)
        _pixel_lines(axis, height, width)
    right.suptitle(f"the {len(maps)} heads that compute it: attention of one query pixel (red)")
    assert image is not None
    right.colorbar(image, ax=axes, label="attention weight", shrink=0.7)
    if title:
        figure.suptitle(title)
    return figure


def _symmetric(kernel: Float[ndarray, "rows columns"]) -> tuple[float, float]:
    largest = max(float(np.abs(kernel).max()), 1e-12)
    return -largest, largest


def _draw_kernel(axis: Axes, kernel: Float[ndarray, "rows columns"], norm: TwoSlopeNorm) -> None:
    height, width = kernel.shape
    axis.imshow(kernel, cmap="PuOr_r", norm=norm, extent=(0, width, height, 0))
    for (row, column), element in np.ndenumerate(kernel):
        dark = abs(element) > 0.6 * float(np.abs(kernel).max())
        color = "white" if dark else "black"
        axis.text(column + 0.5, row + 0.5, _signed(float(element)), ha="center", va="center", color=color)
    _pixel_lines(axis, height, width)


def _signed(element: float) -> str:
    return "0" if abs(element) < 0.005 else f"{element:+.2f}"


def _pixel_lines(axis: Axes, height: int, width: int) -> None:
    axis.set_xticks(range(width + 1), labels=[])
    axis.set_yticks(range(height + 1), labels=[])
    axis.tick_params(length=0)
    axis.grid(color="#00000022", linewidth=0.5)
