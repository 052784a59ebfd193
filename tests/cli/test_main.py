import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec

import pytest

from headgrid.cli.main import VERBS

from .conftest import Headgrid


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",)])
def test_help_lists_every_verb(headgrid: Headgrid, words: tuple[str, ...]):
    ended = headgrid(*words)
    assert ended.code == 0
    assert ended.err == ""
    for verb, (_, summary) in VERBS.items():
        assert f"  {verb} " in ended.out
        assert summary in ended.out


def test_version(headgrid: Headgrid):
    assert headgrid("--version").out == f"headgrid {version('headgrid')}\n"


def test_misspelt_verbs(headgrid: Headgrid):
    ended = headgrid("trian", "quadratic")
    assert ended == (2, "", "headgrid: there is no verb 'trian': did you mean 'train'?\n")
    assert "expected one of presets, show" in headgrid("xyz").err


@pytest.mark.parametrize("verb", VERBS)
def test_verbs_explain_themselves(headgrid: Headgrid, verb: str):
    if find_spec(VERBS[verb][0]) is None:
        pytest.fail(f"{VERBS[verb][0]} does not exist")
    ended = headgrid(verb, "--help")
    assert ended.code == 0
    assert f"usage: headgrid {verb}" in ended.out


def test_help_needs_neither_torch_nor_tyro():
    program = (
        "import sys; from headgrid.cli.main import main; main(['--help']);"
        "sys.exit(bool({'torch', 'tyro', 'rich', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, stdout=subprocess.DEVNULL).returncode == 0


def test_the_package_runs_as_a_module():
    ended = subprocess.run([sys.executable, "-m", "headgrid", "xyz"], check=False, capture_output=True, text=True)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith("headgrid: there is no verb 'xyz'")
