"""The pictures of a page, as SVG text and as images inside of the page."""

import base64
import io
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
from jaxtyping import Float, UInt8
from PIL import Image

from headgrid.analysis import HeadCenters, contour

HEAD_COLORS = (
    "#332288", "#CC6677", "#117733", "#88CCEE", "#DDCC77", "#AA4499", "#44AA99", "#999933", "#882255",
)  # fmt: skip
"""Nine colours that colour-blind readers can tell apart (Paul Tol, "muted"); more heads repeat them."""

_MAP_COLORS = np.array([[255, 255, 255], [209, 226, 243], [107, 166, 214], [33, 89, 155], [8, 29, 88]])


def head_centers_svg(heads: HeadCenters, reach: int, size: int = 230) -> str:
    """The heads of one layer around the query pixel, in pixels of the layer's map.

    The black square is the query pixel; a dot is a head's centre, its solid curve holds 50 % of the head's
    attention and its dotted one 90 %.
    """
    span = 2 * reach + 1
    shapes = [
        f'<rect x="{-reach - 0.5}" y="{-reach - 0.5}" width="{span}" height="{span}" class="paper"/>',
        *(
            f'<path d="M{-reach - 0.5} {line - 0.5}h{span}M{line - 0.5} {-reach - 0.5}v{span}" class="grid"/>'
            for line in range(-reach, reach + 2)
        ),
        '<rect x="-0.5" y="-0.5" width="1" height="1" class="query"/>',
    ]
    for head, (center, precision) in enumerate(zip(heads.centers, heads.inverse_covariances, strict=True)):
        color = HEAD_COLORS[head % len(HEAD_COLORS)]
        row, column = center.tolist()
        curves = []
        for share, dashes in ((0.5, ""), (0.9, ' stroke-dasharray="1 3"')):
            points = " ".join(f"{x:.2f},{y:.2f}" for y, x in contour(center, precision, share).tolist())
            curves.append(f'<polygon points="{points}" stroke="{color}"{dashes}/>')
        dot = f'<circle cx="{column:.2f}" cy="{row:.2f}" r="{span / 60:.3f}" fill="{color}"/>'
        title = f"<title>head {head}: {row:+.1f} rows, {column:+.1f} columns</title>"
        shapes.append(f'<g class="head">{title}{"".join(curves)}{dot}</g>')
    view = f"{-reach - 0.5} {-reach - 0.5} {span} {span}"
    return (
        f'<svg class="centers" viewBox="{view}" width="{size}" height="{size}" role="img">{"".join(shapes)}</svg>'
    )


def accuracy_svg(
    epochs: Sequence[int],
    curves: Mapping[str, Sequence[float | None]],
    chance: float,
    size: tuple[int, int] = (640, 260),
) -> str:
    """Accuracy over the epochs, with the accuracy of guessing as a dashed line."""
    width, height = size
    left, right, top, bottom = 46, 96, 12, 34
    last = max(epochs, default=1)

    def x(epoch: int) -> float:
        return left + (epoch - 1) / max(1, last - 1) * (width - left - right)

    def y(accuracy: float) -> float:
        return top + (1 - accuracy) * (height - top - bottom)

    parts = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(f'<path d="M{left} {y(tick):.1f}H{width - right}" class="grid"/>')
        parts.append(f'<text x="{left - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:.0%}</text>')
    for epoch in sorted({1, last, *range(0, last + 1, max(1, round(last / 6)))} - {0}):
        parts.append(f'<text x="{x(epoch):.1f}" y="{height - 14}" text-anchor="middle">{epoch}</text>')
    parts.append(f'<text x="{(left + width - right) / 2}" y="{height}" text-anchor="middle">epoch</text>')
    parts.append(f'<path d="M{left} {y(chance):.1f}H{width - right}" class="chance"/>')
    parts.append(f'<text x="{width - right + 6}" y="{y(chance) + 4:.1f}">chance</text>')
    labels = []
    for index, (name, values) in enumerate(curves.items()):
        points = [(x(e), y(v)) for e, v in zip(epochs, values, strict=True) if v is not None]
        if not points:
            continue
        color = HEAD_COLORS[index]
        line = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        parts.append(f'<polyline points="{line}" stroke="{color}" class="curve"/>')
        parts.extend(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="2.5" fill="{color}"/>' for px, py in points)
        labels.append((points[-1][1], name, color))
    lowest = 0.0
    for height_of_end, name, color in sorted(labels):
        lowest = max(height_of_end + 4, lowest + 15)  # labels of curves that end close together stay readable
        text = f'<text x="{width - right + 6}" y="{lowest:.1f}" style="fill:{color}">{escape(name)}</text>'
        parts.append(text)
    return f'<svg class="plot" viewBox="0 0 {width} {height + 6}" width="{width}" role="img">{"".join(parts)}</svg>'


def map_png(weights: Float[np.ndarray, "y x"]) -> str:
    """One attention map as a PNG in a data address, white for zero and dark blue for the map's largest weight."""
    relative = np.clip(weights / max(float(weights.max()), 1e-12), 0, 1) * (len(_MAP_COLORS) - 1)
    channels = [np.interp(relative, np.arange(len(_MAP_COLORS)), _MAP_COLORS[:, c]) for c in range(3)]
    return png_address(np.stack(channels, axis=-1).round().astype(np.uint8))


def png_address(pixels: UInt8[np.ndarray, "h w 3"]) -> str:
    """An RGB image as a PNG in a data address."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii")
