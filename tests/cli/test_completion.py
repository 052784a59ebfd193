import subprocess
from pathlib import Path
from shutil import which

import pytest

from headgrid.cli.main import VERBS

from .conftest import Headgrid

COMPLETE = """
source {script}
COMP_WORDS=({words} "")
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
$(complete -p headgrid | sed 's/.*-F \\([^ ]*\\).*/\\1/')
echo "${{COMPREPLY[*]}}"
"""


@pytest.fixture
def complete(headgrid: Headgrid, tmp_path: Path):
    """What bash offers after some words."""
    if which("bash") is None:
        pytest.skip("needs bash")
    script = tmp_path / "completion.bash"
    script.write_text(headgrid("completion", "bash").out)

    def run(words: str) -> list[str]:
        program = COMPLETE.format(script=script, words=words)
        ended = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
        return ended.stdout.split()

    return run


def test_verbs_presets_options_and_kinds(complete):
    assert set(VERBS) <= set(complete("headgrid"))
    assert {"quadratic", "learned-content"} <= set(complete("headgrid train"))
    assert {"--size", "--model.attention.num-heads"} <= set(complete("headgrid train quadratic"))
    assert complete("headgrid train quadratic --training.optimizer.kind") == ["sgd", "adamw"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells(headgrid: Headgrid, shell: str):
    ended = headgrid("completion", shell)
    assert ended.code == 0
    assert "--training.batch-size" in ended.out
