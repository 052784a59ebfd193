"""The page about Theorem 1 runs as it stands, and its pictures and verbs exist."""

import re
from pathlib import Path

import torch

from headgrid.cli.main import VERBS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "concepts" / "theorem-1.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_code_runs():
    torch.manual_seed(0)
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.S)
    assert len(blocks) >= 5
    names: dict = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert names["converted"].report.kept[0].names == ("3",)


def test_files_and_verbs_exist():
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (PAGE.parent / target).exists()
    for path in re.findall(r"`(theory/[a-z_0-9]+\.py)`", TEXT):
        assert (PAGE.parents[2] / "src" / "headgrid" / path).exists()
    verbs = re.findall(r"^headgrid ([a-z]+)", TEXT, re.M)
    assert {"convert", "compile"} <= set(verbs) <= set(VERBS)
