import io
import subprocess
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from shutil import which
from unittest.mock import patch

import pytest

from headgrid.cli.main import VERBS, main
from headgrid.experiments import PRESETS

COMPLETE = """
source {script}
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
$(complete -p headgrid | sed 's/.*-F \\([^ ]*\\).*/\\1/')
echo "${{COMPREPLY[*]}}"
"""


@cache
def completion(shell: str) -> str:
    """The script for a shell, of a few presets: that of all takes seconds."""
    few = {name: PRESETS[name] for name in ("quadratic", "learned-content")}
    with redirect_stdout(io.StringIO()) as printed, patch("headgrid.cli.completion.PRESETS", few):
        assert main(["completion", shell]) == 0
    return printed.getvalue()


@pytest.fixture
def complete(tmp_path: Path):
    """What bash offers after some words."""
    if which("bash") is None:
        pytest.skip("needs bash")
    script = tmp_path / "completion.bash"
    script.write_text(completion("bash"))

    def run(words: str, begun: str = "") -> list[str]:
        program = COMPLETE.format(script=script, words=f'{words} "{begun}"')
        ended = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
        return ended.stdout.split()

    return run


def test_verbs_presets_options_and_kinds(complete):
    assert set(VERBS) <= set(complete("headgrid"))
    assert {"quadratic", "learned-content"} <= set(complete("headgrid train"))
    assert {"--size", "--model.attention.num-heads"} <= set(complete("headgrid train quadratic"))
    assert complete("headgrid train quadratic --training.optimizer.kind") == ["sgd", "adamw"]


def test_files_where_nothing_else_is_offered(complete):
    assert complete("headgrid evaluate", begun="runs/") == []  # so that bash does what its option says
    assert complete("headgrid evaluate", begun="--spl") == ["--split"]
    assert "\ncomplete -o default -F _headgrid_or_files headgrid\n" in completion("bash")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells(shell: str):
    script = completion(shell)
    assert "--training.batch-size" in script
    assert shell == "fish" or script.endswith("|| _files\n")
