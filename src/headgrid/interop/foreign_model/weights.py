"""Which weights a foreign model gets. Random ones never stand in for weights that are missing."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from headgrid.interop.foreign_weights import named_tensors

FORCE_WEIGHTS_ONLY = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
"""torch refuses, while this is set, to unpickle anything but tensors, whatever the caller wants."""


@dataclass(frozen=True)
class PublishedWeights:
    """Those that the source offers for this name."""


@dataclass(frozen=True)
class RandomWeights:
    """New ones, the same every time."""

    seed: int = 0


@dataclass(frozen=True)
class WeightsFile:
    """A state dict in a .safetensors file, loaded into the model that the source makes."""

    path: Path


Weights = PublishedWeights | RandomWeights | WeightsFile


@contextmanager
def drawn_with(seed: int) -> Iterator[None]:
    """Random numbers from a seed; the caller's are as they were afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


@contextmanager
def tensors_only() -> Iterator[None]:
    """Whoever reads weights in here, reads them without running what a pickle may contain."""
    before = os.environ.get(FORCE_WEIGHTS_ONLY)
    os.environ[FORCE_WEIGHTS_ONLY] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[FORCE_WEIGHTS_ONLY]
        else:
            os.environ[FORCE_WEIGHTS_ONLY] = before


def load_weights_file(module: nn.Module, weights: WeightsFile, name: str) -> None:
    """Every entry of the file has a place in the model and the other way round."""
    if not weights.path.is_file():
        raise ValueError(f"there is no file {weights.path} with the weights of {name}")
    try:
        state = named_tensors(load_file(weights.path))
    except SafetensorError as error:
        raise ValueError(f"{weights.path} is no intact safetensors file: {error}") from error
    expected = module.state_dict()
    for entry in sorted(expected.keys() - state.keys()):
        raise ValueError(f"{weights.path} has no entry {entry}, which {name} needs: is it for another model?")
    for entry, tensor in state.items():
        if entry not in expected:
            raise ValueError(f"{weights.path} has an entry {entry} that {name} has no place for")
        if tensor.shape != expected[entry].shape:
            raise ValueError(
                f"entry {entry} of {weights.path} has the shape {tuple(tensor.shape)} where {name} has "
                f"{tuple(expected[entry].shape)}: give the model the options it was trained with, such as "
                f"num_classes=10"
            )
    module.load_state_dict(state)
