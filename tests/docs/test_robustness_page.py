"""The published numbers on the page about robustness are those of the slides."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "concepts" / "robustness.md"


def test_the_papers_table_is_that_of_the_slides(shared_dir: Path):
    slides = (shared_dir / "papers" / "004_c9fb9d823d91ce41.txt").read_text(encoding="utf-8")
    printed = {}
    for line in slides.partition("## **Robustness**")[2].splitlines():
        name, *cells = line.strip().split("\t")
        if len(cells) == 10 and name != "Method":
            # Every other number is top-5 accuracy; the page has a space before the brackets.
            printed[name] = [cell.replace("(", " (") for cell in cells[::2]]
    assert len(printed) == 9

    table = PAGE.read_text(encoding="utf-8").partition("## The paper's table")[2].partition("## Ours")[0]
    rows = [re.findall(r"[^|]+", line) for line in table.splitlines() if re.match(r"\| (SAN|ResNet)", line)]
    assert {name.strip(): [cell.strip() for cell in cells] for name, *cells in rows} == printed


MISPRINTED = "SAN15-patch."
"""Its drops are printed as from 78.2, and its accuracy as 78.0."""


def test_drops_are_differences():
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if re.match(r"\| (SAN|ResNet)", line)]
    assert len(rows) == 9 + 3
    for row in rows:
        upright = float(re.findall(r"\| (\d+\.\d) \|", row)[0]) + (0.2 if MISPRINTED in row else 0)
        cells = re.findall(r"(\d+\.\d) \((\d+\.\d)\)", row)
        assert len(cells) in (4, 6)
        for now, drop in cells:
            assert abs(upright - float(now) - float(drop)) < 0.11, row  # of rounded numbers
