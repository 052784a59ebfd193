"""The pages about measures run as they stand; files, pictures, figures and verbs that they name exist."""

import re
from pathlib import Path

import pytest
import torch

from headgrid.cli.figures.kinds import FIGURES
from headgrid.cli.main import VERBS

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "concepts"
PACKAGE = FOLDER.parents[1] / "src" / "headgrid"
INDEX = FOLDER / "README.md"
OTHERS = {"theorem-1.md", "vector-attention.md", "hierarchical-attention.md"}
"""Pages with tests of their own."""
PAGES = sorted(path for path in FOLDER.glob("*.md") if path.name not in OTHERS | {INDEX.name})
LARGEST_PICTURE = 150_000
"""Bytes."""


def name_of(page: Path) -> str:
    return page.stem


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_code_runs(page, tmp_path, monkeypatch):
    if "kernel-cover" in page.stem or "measure_attention" in page.read_text(encoding="utf-8"):
        pytest.importorskip("scipy")
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    assert blocks
    names: dict = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize("page", [*PAGES, INDEX], ids=name_of)
def test_files_pictures_and_pages_exist(page):
    text = page.read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#]+)\)", text)
    assert [target for target in targets if not (FOLDER / target).is_file()] == []
    for path in re.findall(r"`([a-z_]+(?:/[a-z_0-9]+)+\.py)`", text):
        assert (PACKAGE / path).is_file(), path
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)
    assert pictures or page == INDEX
    for picture in pictures:
        assert (FOLDER / picture).stat().st_size < LARGEST_PICTURE, picture


@pytest.mark.parametrize("page", [*PAGES, INDEX], ids=name_of)
def test_verbs_and_figures_exist(page):
    text = page.read_text(encoding="utf-8")
    commands = re.findall(r"(?:^|`)headgrid ([a-z]+)([^`\n]*)", text, re.M)
    assert commands
    for verb, words in commands:
        assert verb in VERBS
        only = re.search(r"--only((?: [a-z][a-z0-9-]*)+)", words)
        if only:
            assert set(only[1].split()) <= set(FIGURES), words


def test_the_index_names_every_page():
    linked = set(re.findall(r"\]\(([a-z0-9-]+\.md)\)", INDEX.read_text(encoding="utf-8")))
    assert linked == {path.name for path in FOLDER.glob("*.md")} - {INDEX.name}
