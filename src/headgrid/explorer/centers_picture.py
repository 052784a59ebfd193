"""One picture of where the heads of all layers look, before and after training, as an SVG file of its own."""

from headgrid.analysis import HeadCenters
from headgrid.explorer.pictures import head_centers_svg

_STYLE = """
text { font: 15px system-ui, sans-serif; fill: #5d6778; }
.paper { fill: #fff; }
.grid { stroke: #d9dee6; fill: none; vector-effect: non-scaling-stroke; }
.query { fill: #111; }
.head polygon { fill: none; stroke-width: 1.6; vector-effect: non-scaling-stroke; }
"""


def centers_picture(rows: dict[str, dict[str, HeadCenters]], reach: int, size: int = 200) -> str:
    """A row of panels for each entry of ``rows`` (say, "before training"), a panel for each layer."""
    gap, left, top = 14, 120, 34
    num_layers = max(len(layers) for layers in rows.values())
    width = left + num_layers * (size + gap)
    height = top + len(rows) * (size + gap)
    parts = [
        f'<text x="{left + layer * (size + gap) + size / 2}" y="22" text-anchor="middle">layer {layer + 1}</text>'
        for layer in range(num_layers)
    ]
    for row, (name, layers) in enumerate(rows.items()):
        y = top + row * (size + gap)
        for line, word in enumerate(name.split()):
            parts.append(f'<text x="{left - 14}" y="{y + size / 2 + 20 * line}" text-anchor="end">{word}</text>')
        for layer, heads in enumerate(layers.values()):
            panel = head_centers_svg(heads, reach, size)
            x = left + layer * (size + gap)
            parts.append(panel.replace("<svg ", f'<svg x="{x}" y="{y}" ', 1))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f'<style>{_STYLE}</style><rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'
    )
