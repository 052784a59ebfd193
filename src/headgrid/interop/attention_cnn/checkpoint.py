"""The original's `.checkpoint` files, read without running anything that they contain."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import torch
import yaml
from torch import Tensor
from torch.serialization import safe_globals

from headgrid.interop.attention_cnn.translation import translate
from headgrid.interop.foreign_weights import named_tensors
from headgrid.models import FullyAttentional, ResNet


@dataclass(frozen=True)
class CheckpointInfo:
    """What a checkpoint says about itself."""

    epoch: int | None
    """The epoch, counted from 0, after which it was written."""
    test_accuracy: float | None
    """The original's accuracy on its test set."""
    dataset: str | None
    """What it was trained on: Cifar10, Cifar100, or a file."""


class Checkpoint(NamedTuple):
    """A checkpoint and the config of its run."""

    state: dict[str, Tensor]
    config: dict[str, Any]
    info: CheckpointInfo


def import_checkpoint(path: Path) -> tuple[FullyAttentional | ResNet, CheckpointInfo]:
    """Our model with the weights of a checkpoint; ``model.config`` is its config. See `load_checkpoint`."""
    checkpoint = load_checkpoint(path)
    return translate(checkpoint.state, checkpoint.config), checkpoint.info


def load_checkpoint(path: Path) -> Checkpoint:
    """Reads a `.checkpoint` file, and the `config.yaml` that the original wrote beside it.

    Tensors, plain values and numpy's numbers are read, from zip files and from the format that torch wrote before
    it used them; a file that holds any other object is refused.
    """
    path = Path(path)
    content = _unpickle(path)
    if not isinstance(content, dict) or not isinstance(content.get("model_state_dict"), dict):
        raise ValueError(f"{path} is no checkpoint of attention-cnn: expected a dictionary with model_state_dict")
    config = _read_config(path.parent / "config.yaml", path)
    info = CheckpointInfo(
        epoch=_number(content.get("epoch"), int, "epoch", path),
        test_accuracy=_number(content.get("test_accuracy"), float, "test_accuracy", path),
        dataset=config.get("dataset"),
    )
    return Checkpoint(named_tensors(content["model_state_dict"]), config, info)


def _unpickle(path: Path) -> Any:
    with path.open("rb") as file:
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
                f"{path} cannot be read as a checkpoint of attention-cnn: the file is damaged or of another kind"
            ) from error


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


def _read_config(path: Path, checkpoint: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ValueError(f"{checkpoint} needs the file config.yaml of its run in the same folder: copy it there")
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{path} cannot be read as YAML of plain values: expected the config that attention-cnn wrote"
        ) from error
    if not isinstance(config, dict):
        raise ValueError(f"{path} holds no names and values: expected the config that attention-cnn wrote")
    return config


def _number(value: Any, kind: type, name: str, path: Path) -> Any:
    """A number that may be missing, or may be one of numpy's or torch's."""
    try:
        return None if value is None else kind(value)
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(
            f"{path} is no checkpoint of attention-cnn: {name} should be a number, not {value!r}"
        ) from None
