"""The page about vector attention runs as it stands, and the files that it names exist."""

import re
from pathlib import Path

import torch

PAGE = Path(__file__).resolve().parents[2] / "docs" / "concepts" / "vector-attention.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_code_runs():
    torch.manual_seed(0)
    first, second = re.findall(r"```python\n(.*?)```", TEXT, re.S)
    names: dict = {}
    exec(compile(first, str(PAGE), "exec"), names)
    assert names["layer"].weights.shape == (1, 8, 16, 24, 49)
    assert names["layer"].dense().shape == (1, 8, 16, 24, 16, 24)
    # The second reads files that we do not have; its names are ours.
    imports = second.splitlines()[0]
    exec(compile(imports, str(PAGE), "exec"), names)


def test_files_exist():
    named = re.findall(r"`([a-z]+(?:/[a-z_0-9]+)+\.py)`", TEXT)
    assert len(named) >= 12
    for path in named:
        assert (PAGE.parents[2] / "src" / "headgrid" / path).exists(), path
    for path in re.findall(r"python (benchmarks/[a-z_]+\.py)", TEXT):
        assert (PAGE.parents[2] / path).exists(), path
