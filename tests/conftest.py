"""Shapes are checked in every test; shared data is found beside the repository."""

import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from jaxtyping import install_import_hook

install_import_hook("headgrid", "beartype.beartype")

import pytest
import torch

torch.set_num_threads(1)

REPOSITORY = Path(__file__).resolve().parents[1]


def _shared(*parts: str) -> Path:
    path = REPOSITORY.parent.joinpath("shared", *parts)
    if not path.exists():
        pytest.skip(f"needs the folder {'/'.join(('../shared', *parts))} beside the repository")
    return path


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    return _shared()


@pytest.fixture(scope="session")
def cifar_dir() -> Path:
    """The folder that holds `cifar-10-batches-bin`."""
    _shared("data", "cifar-10-batches-bin")
    return _shared("data")


@pytest.fixture(scope="session")
def scenes_dir() -> Path:
    return _shared("data", "intel-scenes-64")


@pytest.fixture(scope="session")
def reference_dir() -> Path:
    return _shared("reference")
