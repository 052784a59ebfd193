"""Every number that the presets and ablations of SAN quote, against the slides that print them."""

import re
from pathlib import Path

import pytest
import torch

from headgrid.evaluation.published_flops import published_flops
from headgrid.experiments import ABLATIONS, PRESETS
from headgrid.models import SAN, ResNet

HEADINGS = {
    "relation": "Relation Fn Ablation",
    "transformation": "Transformation Fn ABlation",
    "footprint": "FootPrint Ablation",
    "position": "Position Encoding Ablation",
}

NUMBERS = re.compile(r"(\d\d\.\d)\s+(\d\d\.\d)\s+([\d.]+)M\s+([\d.]+)G")
"""Top-1 and top-5 accuracy in per cent, parameters, FLOPs."""


@pytest.fixture(scope="module")
def slides(shared_dir: Path) -> str:
    return (shared_dir / "papers" / "004_c9fb9d823d91ce41.txt").read_text(encoding="utf-8")


def _printed(slides: str, heading: str) -> list[tuple[float, ...]]:
    """The rows of numbers between the title of a slide and the next."""
    _, _, rest = slides.partition(heading)
    assert rest, heading
    table = re.split(r"\n#+ \*\*", rest)[0]
    return [tuple(map(float, row.groups())) for row in NUMBERS.finditer(table)]


@pytest.mark.parametrize("name", HEADINGS)
def test_ablations_quote_the_slides(slides: str, name: str):
    printed = _printed(slides, HEADINGS[name])
    if name == "relation":  # of whose first row the slides have lost the accuracies: those of the other tables
        printed.insert(0, _printed(slides, HEADINGS["position"])[0])
    quoted = [
        (
            round(100 * row.published.top_1, 1),
            round(100 * row.published.top_5, 1),
            row.published.mega_parameters,
            row.published.giga_flops,
        )
        for row in ABLATIONS[name].rows
        if row.published is not None
    ]
    assert quoted == printed
    assert len(quoted) == len(ABLATIONS[name].rows)


def test_presets_quote_the_slides_and_have_the_printed_sizes(slides: str):
    printed = _printed(slides, "## **Experiments**")
    networks = [f"{name}{kind}" for kind in ("", "-pairwise", "-patchwise") for name in ("san10", "san15", "san19")]
    networks[:3] = ["resnet26", "resnet38", "resnet50"]
    assert len(printed) == len(networks)
    for name, (top_1, _, mega_parameters, giga_flops) in zip(networks, printed, strict=True):
        assert PRESETS[name].accuracy == pytest.approx(top_1 / 100)
        with torch.device("meta"):
            model = PRESETS[name].make().model.build()
        assert isinstance(model, SAN | ResNet)
        assert round(sum(parameter.numel() for parameter in model.parameters()) / 1e6, 1) == mega_parameters
        assert round(published_flops(model) / 1e9, 1) == giga_flops
