"""Command lines run in this process; one short training for all tests that need a finished run."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from headgrid.cli.main import main


class Ended(NamedTuple):
    """How a command line ended."""

    code: int
    out: str
    err: str


Headgrid = Callable[..., Ended]

SHORT = (
    "--data.num-train", "200",
    "--data.num-validation", "50",
    "--data.num-test", "60",
    "--device", "cpu",
)  # fmt: skip
"""Options that make a training of size tiny a matter of a second."""


@pytest.fixture
def headgrid(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Headgrid:
    """Runs a command line in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> Ended:
        capsys.readouterr()
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder of a finished training."""
    folder = tmp_path_factory.mktemp("runs") / "trained"
    assert main(["train", "resnet18", "--size", "tiny", "--epochs", "2", "--run", str(folder), *SHORT]) == 0
    return folder
