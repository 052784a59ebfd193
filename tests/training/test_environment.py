import getpass
import json
import platform
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest
import torch

import headgrid
from headgrid.training import environment
from headgrid.training.environment import describe_environment, num_cores


def test_tells_versions_and_hardware_but_no_names_or_paths():
    found = describe_environment(torch.device("cpu"))
    assert found["torch"] == torch.__version__
    assert found["python"] == platform.python_version()
    assert found["headgrid"] == version("headgrid")
    assert found["num_cores"] == num_cores() >= 1
    assert found["num_threads"] == torch.get_num_threads()
    assert found["cpu"]
    text = json.dumps(found)
    assert str(Path.home()) not in text
    assert str(Path(headgrid.__file__).parents[1]) not in text
    assert platform.node() not in text or len(platform.node()) < 4
    assert f"/{getpass.getuser()}" not in text


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a package in it, and headgrid taken for that package."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    package = tmp_path / "src" / "headgrid"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    monkeypatch.setattr(environment, "PACKAGE", package)
    return tmp_path


def commit(folder: Path) -> None:
    subprocess.run(["git", "add", "."], cwd=folder, check=True)
    author = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
    subprocess.run(["git", *author, "commit", "-qm", "First"], cwd=folder, check=True)


def test_the_commit_of_a_checkout_and_its_changes(checkout: Path):
    commit(checkout)
    found = environment._commit()
    assert found is not None
    assert len(found["id"]) == 40
    assert found["dirty"] is False
    (checkout / "notes.txt").write_text("new files do not change what runs")
    assert environment._commit() == found
    (checkout / "src/headgrid/__init__.py").write_text("changed = True")
    assert environment._commit() == {**found, "dirty": True}


def test_a_package_that_is_not_part_of_the_checkout_has_no_commit(checkout: Path):
    (checkout / "readme").write_text("somebody else's project")
    (checkout / ".gitignore").write_text("src/\n")
    commit(checkout)
    assert environment._commit() is None


def test_no_git_no_commit(monkeypatch: pytest.MonkeyPatch, checkout: Path):
    monkeypatch.setenv("PATH", "")
    assert environment._commit() is None
