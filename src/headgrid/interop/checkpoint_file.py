"""Files that torch pickled, read without running anything that they contain."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch.serialization import safe_globals


def read_checkpoint_file(path: Path, project: str) -> Any:
    """What a checkpoint of a project holds.

    Tensors, plain values and numpy's numbers are read, from zip files and from the format that torch wrote before
    it used them; a file that holds any other object is refused.
    """
    with path.open("rb") as file, warnings.catch_warnings():
        # A pickle that torch did not write is refused if it holds more than plain values; its version says nothing.
        warnings.filterwarnings("ignore", "Detected pickle protocol")
        try:
            with safe_globals(_numpy_numbers()):
                return torch.load(file, map_location="cpu", weights_only=True)
        except Exception as error:  # of a damaged file, torch's readers let out errors of all kinds
            if "GLOBAL" in str(error):  # how the restricted unpickler names a class or function that it refuses
                raise ValueError(
                    f"{path} holds more than tensors and numbers, and reading the rest would run code that came "
                    f"with the file: save its state dict again from the original's own program"
                ) from None
            raise ValueError(
                f"{path} cannot be read as a checkpoint of {project}: the file is damaged or of another kind"
            ) from error


def plain_number(value: Any, kind: type, name: str, path: Path, project: str) -> Any:
    """A number that may be missing, or may be one of numpy's or torch's."""
    try:
        return None if value is None else kind(value)
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(
            f"{path} is no checkpoint of {project}: {name} should be a number, not {value!r}"
        ) from None


def _numpy_numbers() -> list[Callable | tuple[Callable, str]]:
    """What numpy's numbers are made of when they are pickled, under the names of numpy 1 and 2."""
    scalar = cast(Callable, np.float64(0).__reduce__()[0])
    types = [type(np.dtype(kind)) for kind in "?bBhHiIlLqQefd"]
    return [
        (scalar, "numpy.core.multiarray.scalar"),
        (scalar, "numpy._core.multiarray.scalar"),
        np.dtype,
        *dict.fromkeys(types),
    ]
