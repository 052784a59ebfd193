"""The README's promises: every path exists, every verb and preset in a command is one."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


def test_every_file_that_the_table_names_exists():
    table = README.split("## In the papers -> file")[1].split("\n## ")[0]
    paths = re.findall(r"`(src/[^`]+)`", table)
    assert len(paths) > 20
    assert [path for path in paths if not (REPOSITORY / path).exists()] == []


def test_every_link_and_picture_exists():
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    local = [target for target in targets if not target.startswith("http")]
    assert local
    assert [target for target in local if not (REPOSITORY / target).exists()] == []


def test_every_verb_and_preset_in_a_command_is_one():
    from headgrid.cli.main import VERBS
    from headgrid.experiments import PRESETS

    commands = re.findall(
        r"headgrid ([a-z]+)(?: ([a-z0-9-]+))?", " ".join(re.findall(r"(?:^|`)headgrid .*", README, re.M))
    )
    assert commands
    for verb, word in commands:
        assert verb in VERBS
        if verb == "train" and not word.startswith("-"):
            assert word in PRESETS


@pytest.mark.parametrize("target", re.findall(r"make ([a-z-]+)", README))
def test_every_make_target_exists(target):
    assert re.search(rf"^{target}:", (REPOSITORY / "Makefile").read_text(), re.M)
