"""Checkpoints: the weights in one file, everything else that a training needs to go on in another beside it.

    checkpoints/last.safetensors                        weights, ready for any tool
    checkpoints/last.step-1200.state.safetensors        optimizer, counters, sums; raw weights beside an average

The state is written first, under a name with its step. The weights name their state in their metadata, and putting
them in place is the one instant in which the new pair replaces the old one: a kill at any moment leaves a whole
pair. Nothing is pickled: tensors are stored as such, everything else as JSON in the metadata.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from headgrid.training.files import commit, temporary_name

CHECKPOINTS = "checkpoints"
METADATA = "headgrid"
"""The one key of the metadata; one, because several would be stored in random order."""

Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Checkpoint:
    """What one moment of a training leaves behind."""

    weights: Tensors
    """What the model is evaluated with."""
    tensors: Tensors
    """The other tensors of the training state."""
    state: dict[str, Any]
    """Counters and sums; JSON."""


def to_disk(tensors: Tensors) -> Tensors:
    """Copies on the CPU that share no memory, as safetensors wants them."""
    return {name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()}


def weights_file(folder: Path, name: str) -> Path:
    return folder / f"{name}.safetensors"


def save_tensors(path: Path, tensors: Tensors, metadata: dict[str, Any]) -> None:
    # Not save_file, which gives its files to their owner alone, whatever the umask says.
    temporary_name(path).write_bytes(save(tensors, {METADATA: json.dumps(metadata)}))
    commit(path)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        with safe_open(path, "pt") as file:
            yield file
    except (SafetensorError, ValueError) as error:
        raise ValueError(f"{path} is no intact safetensors file: {error}") from error


def load_metadata(path: Path) -> dict[str, Any]:
    """What headgrid wrote into the metadata; nothing for a file of others."""
    with _opened(path) as file:
        return json.loads((file.metadata() or {}).get(METADATA, "{}"))


def load_tensors(path: Path) -> Tensors:
    with _opened(path) as file:
        return {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118


def save_checkpoint(folder: Path, name: str, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint of this name; until the last moment the old one stays whole."""
    folder.mkdir(exist_ok=True)
    epoch, step = checkpoint.state["epoch"], checkpoint.state["step"]
    state_file = folder / f"{name}.step-{step}.state.safetensors"
    save_tensors(state_file, checkpoint.tensors, checkpoint.state)
    metadata = {"epoch": epoch, "step": step, "state": state_file.name}
    save_tensors(weights_file(folder, name), checkpoint.weights, metadata)
    for old in folder.glob(f"{name}.step-*.state.safetensors"):
        if old != state_file:
            old.unlink()


def remove_lost_states(folder: Path) -> None:
    """Remove the states that no weights name: what a process leaves that is killed while it saves."""
    states = set(folder.glob("*.state.safetensors"))
    named = {folder / str(load_metadata(path).get("state")) for path in set(folder.glob("*.safetensors")) - states}
    for path in states - named:
        path.unlink()


def load_checkpoint(folder: Path, name: str) -> Checkpoint | None:
    """The checkpoint of this name, or none when there is none."""
    path = weights_file(folder, name)
    if not path.exists():
        return None
    state_file = folder / str(load_metadata(path).get("state"))
    if not state_file.exists():
        raise ValueError(
            f"{path} has no training state beside it: training cannot go on from weights alone, "
            "restore the file that ends in .state.safetensors or train into another folder"
        )
    return Checkpoint(load_tensors(path), load_tensors(state_file), load_metadata(state_file))


def find_weights(path: Path, checkpoint: str | None = None) -> Path:
    """The safetensors file itself, or that of a checkpoint of a run folder.

    Of a run folder `checkpoint` names one of those kept (`last`, `best`, `epoch-0100`). Without a name it is the
    best on the validation images, or the last where nothing was validated.
    """
    if path.is_file():
        return path
    if not path.exists():
        raise ValueError(f"{path} does not exist: expected a run folder or a .safetensors file")
    folder = path / CHECKPOINTS
    kept = sorted(file.name.removesuffix(".safetensors") for file in folder.glob("*.safetensors"))
    kept = [name for name in kept if not name.endswith(".state")]
    if not kept:
        raise ValueError(f"{path} holds no checkpoint: expected a run folder with files in {CHECKPOINTS}/")
    name = checkpoint or ("best" if "best" in kept else "last")
    if name not in kept:
        raise ValueError(f"{path} has no checkpoint {name!r}: it has {', '.join(kept)}")
    return weights_file(folder, name)


def load_weights(path: Path, checkpoint: str | None = None) -> Tensors:
    """The weights of the file that `find_weights` names."""
    return load_tensors(find_weights(path, checkpoint))
