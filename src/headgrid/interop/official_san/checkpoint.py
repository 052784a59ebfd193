"""The official `.pth` files, read without running anything that they contain."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headgrid.interop.checkpoint_file import plain_number, read_checkpoint_file
from headgrid.interop.official_san.network import translate
from headgrid.models import SAN

PROJECT = "the official SAN"


@dataclass(frozen=True)
class CheckpointInfo:
    """What a checkpoint says about itself."""

    epoch: int | None
    """Number of epochs after which it was written."""
    top1: float | None
    """The official code's accuracy on its validation set."""
    top5: float | None
    """How often the right class was among its first five."""


def import_checkpoint(path: Path, kernels: Sequence[int] | None = None) -> tuple[SAN, CheckpointInfo]:
    """Our model with the weights of a checkpoint, saved under DataParallel or not; ``model.config`` is its config.

    ``kernels`` are the footprints of the stages. Patchwise weights tell them; for pairwise weights they are by
    default the paper's.
    """
    path = Path(path)
    content = read_checkpoint_file(path, PROJECT)
    if not isinstance(content, dict) or not isinstance(content.get("state_dict"), dict):
        raise ValueError(f"{path} is no checkpoint of {PROJECT}: expected a dictionary with state_dict")
    info = CheckpointInfo(
        epoch=plain_number(content.get("epoch"), int, "epoch", path, PROJECT),
        top1=plain_number(content.get("top1_val"), float, "top1_val", path, PROJECT),
        top5=plain_number(content.get("top5_val"), float, "top5_val", path, PROJECT),
    )
    return translate(content["state_dict"], {} if kernels is None else {"kernels": tuple(kernels)}), info
