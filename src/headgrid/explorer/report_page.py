"""The report of one run as one HTML file: accuracy, where the heads look, and what they see on a test image."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

import numpy as np
from jaxtyping import Float, UInt8

from headgrid.analysis import HeadCenters
from headgrid.explorer.pictures import accuracy_svg, head_centers_svg, map_png, png_address


@dataclass(frozen=True)
class Example:
    """A test image and the attention of every head for one query pixel of it."""

    image: UInt8[np.ndarray, "h w 3"]
    label: str
    prediction: str
    query: tuple[int, int]
    """Row and column of the query pixel in the layers' maps."""
    maps: dict[str, Float[np.ndarray, "n y x"]]
    """For each layer, how much the query pixel looks at each pixel."""


@dataclass(frozen=True)
class ReportContents:
    """Everything that the page shows."""

    title: str
    facts: Sequence[tuple[str, str]]
    """Lines of the table at the top: what, and its value."""
    metrics: Sequence[dict]
    """The rows of metrics.jsonl."""
    chance: float
    """The accuracy of guessing."""
    centers: dict[int, dict[str, HeadCenters]]
    """For each recorded epoch (0: before training), where the heads of each layer look; empty without centres."""
    examples: Sequence[Example]


def report_page(contents: ReportContents) -> str:
    """The page's HTML. It loads nothing from anywhere."""
    sections = [_facts(contents), _accuracy(contents)]
    if contents.centers:
        sections.append(_centers(contents.centers))
    sections.extend(_example(example) for example in contents.examples)
    template = files("headgrid.explorer").joinpath("report_page.html").read_text(encoding="utf-8")
    return template.replace("{{title}}", escape(contents.title)).replace("{{sections}}", "\n".join(sections))


def _facts(contents: ReportContents) -> str:
    rows = "".join(f"<tr><th>{escape(what)}</th><td>{escape(value)}</td></tr>" for what, value in contents.facts)
    return f'<table class="facts">{rows}</table>'


def _accuracy(contents: ReportContents) -> str:
    epochs = [row["epoch"] for row in contents.metrics]
    curves = {
        name: [row.get(f"{name}_accuracy") for row in contents.metrics] for name in ("training", "validation")
    }
    picture = accuracy_svg(epochs, curves, contents.chance)
    return f"<section><h2>Accuracy</h2>{picture}</section>"


def _centers(centers: dict[int, dict[str, HeadCenters]]) -> str:
    epochs = sorted(centers)
    reach = pixels_to_show(centers)

    def row(epoch: int) -> str:
        return "".join(
            f"<figure>{head_centers_svg(heads, reach)}<figcaption>layer {layer}</figcaption></figure>"
            for layer, heads in enumerate(centers[epoch].values(), start=1)
        )

    strips = "".join(
        f'<div class="strip" data-epoch="{epoch}"{"" if epoch == epochs[-1] else " hidden"}>{row(epoch)}</div>'
        for epoch in epochs
    )
    return f"""<section><h2>Where the heads look</h2>
<p>One panel per layer, one colour per head, in pixels of the layer's map around the query pixel (the black square).
A dot is the head's centre; half of its attention lies within the solid curve, 90 % within the dotted one.</p>
<h3>Before training</h3><div class="strip">{row(epochs[0])}</div>
<h3>After training</h3><div class="strip">{row(epochs[-1])}</div>
<h3>On the way <output id="epoch-label">epoch {epochs[-1]}</output></h3>
<input id="epoch" type="range" min="0" max="{len(epochs) - 1}" value="{len(epochs) - 1}" aria-label="epoch">
<div id="strips">{strips}</div></section>"""


def pixels_to_show(centers: dict[int, dict[str, HeadCenters]]) -> int:
    """On each side of the query: all centres of the first and last epoch, but no more than 12 pixels."""
    first, last = min(centers), max(centers)
    farthest = max(float(heads.centers.abs().max()) for epoch in (first, last) for heads in centers[epoch].values())
    return int(min(12, max(3, np.ceil(farthest) + 2)))


def _example(example: Example) -> str:
    height, width = next(iter(example.maps.values())).shape[1:]
    row, column = example.query
    mark = (
        f'<svg class="mark" viewBox="0 0 {width} {height}" preserveAspectRatio="none">'
        f'<rect x="{column}" y="{row}" width="1" height="1"/></svg>'
    )
    lines = []
    for layer, maps in enumerate(example.maps.values(), start=1):
        cells = "".join(
            f'<td><div class="map"><img src="{map_png(weights)}" alt="layer {layer}, head {head}">{mark}</div></td>'
            for head, weights in enumerate(maps)
        )
        lines.append(f"<tr><th>layer {layer}</th>{cells}</tr>")
    num_heads = max(len(maps) for maps in example.maps.values())
    heads = "".join(f"<th>head {head}</th>" for head in range(num_heads))
    verdict = "rightly" if example.label == example.prediction else f"wrongly (it is {example.label})"
    picture = f'<div class="map image"><img src="{png_address(example.image)}" alt="test image">{mark}</div>'
    return f"""<section><h2>Attention on a test image</h2>
<div class="example">{picture}<p>The model takes this image {escape(verdict)} for
<strong>{escape(example.prediction)}</strong>. The maps show how much the marked query pixel looks at every pixel:
white is nothing, dark blue the most of each map.</p></div>
<div class="scroll"><table class="maps"><tr><th></th>{heads}</tr>{"".join(lines)}</table></div></section>"""
