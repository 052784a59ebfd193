"""The original's `.checkpoint` files, read without running anything that they contain."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from torch import Tensor

from headgrid.interop.attention_cnn.translation import translate
from headgrid.interop.checkpoint_file import plain_number, read_checkpoint_file
from headgrid.interop.foreign_weights import named_tensors
from headgrid.models import FullyAttentional, ResNet

PROJECT = "attention-cnn"


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
    content = read_checkpoint_file(path, PROJECT)
    if not isinstance(content, dict) or not isinstance(content.get("model_state_dict"), dict):
        raise ValueError(f"{path} is no checkpoint of {PROJECT}: expected a dictionary with model_state_dict")
    config = _read_config(path.parent / "config.yaml", path)
    info = CheckpointInfo(
        epoch=plain_number(content.get("epoch"), int, "epoch", path, PROJECT),
        test_accuracy=plain_number(content.get("test_accuracy"), float, "test_accuracy", path, PROJECT),
        dataset=config.get("dataset"),
    )
    return Checkpoint(named_tensors(content["model_state_dict"]), config, info)


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
