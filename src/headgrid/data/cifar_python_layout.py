"""The python layout of CIFAR: pickled dictionaries, opened without letting the pickle run anything.

A pickle is a program that may call whatever it names. A CIFAR file names only what puts a numpy array of bytes
together. This reader gives it stand-ins for these names that do no more than keep what they are handed, and
refuses every other name. So nothing is imported, and not even numpy sees a byte that was not checked.
"""

import math
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from headgrid.axes import ByteImages, Labels
from headgrid.data.cifar_binary_layout import NUM_PIXEL_BYTES
from headgrid.data.tensor_dataset import LabelledImages


@dataclass(frozen=True)
class PythonLayout:
    folder: str
    train_files: tuple[str, ...]
    test_files: tuple[str, ...]
    label_key: bytes

    def read(self, file: Path, num_images: int) -> LabelledImages:
        try:
            content = _read_plain(file)
            images = _images(content[b"data"])
            labels = _labels(content[self.label_key])
        # A damaged pickle fails in any way, from a missing key to a full memory.
        except Exception as error:
            raise ValueError(
                f"{file} is no CIFAR file in the python layout ({type(error).__name__}: {error}); fetch it again"
            ) from error
        if not len(images) == len(labels) == num_images:
            raise ValueError(
                f"{file} holds {len(images)} images and {len(labels)} labels instead of {num_images} of each; "
                f"it is damaged or incomplete, fetch it again"
            )
        return LabelledImages(images, labels)


class _StandIn:
    """Keeps what the pickle passes to the constructor and to `__setstate__`."""

    def __init__(self, *arguments: Any) -> None:
        self.arguments = arguments
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Array(_StandIn):
    """In place of an array; its state is (version, shape, type, columns first?, bytes)."""


class _Type(_StandIn):
    """In place of a `numpy.dtype`; its first argument is a code such as "u1"."""


def _encode(text: str, encoding: str) -> bytes:
    """How Python 3 writes bytes into the old protocol that the releases use."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"bytes are encoded as {encoding} instead of latin1")
    return text.encode("latin1")


STAND_INS = {
    # The function that makes an array, under its names in numpy 1 and numpy 2.
    "numpy.core.multiarray._reconstruct": _Array,
    "numpy._core.multiarray._reconstruct": _Array,
    "numpy.ndarray": _StandIn,
    "numpy.dtype": _Type,
    "_codecs.encode": _encode,
}


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (full_name := f"{module}.{name}") not in STAND_INS:
            raise pickle.UnpicklingError(f"it asks for {full_name}, which no CIFAR file needs")
        return STAND_INS[full_name]


def _read_plain(file: Path) -> Any:
    with file.open("rb") as stream:
        return _PlainUnpickler(stream, encoding="bytes").load()


def _images(array: Any) -> ByteImages:
    if not isinstance(array, _Array):
        raise ValueError("the images are no array")
    _, shape, kind, columns_first, content = array.state
    if kind.arguments[0] not in ("u1", b"u1") or columns_first or shape[1:] != (NUM_PIXEL_BYTES,):
        raise ValueError(f"the images are no rows of {NUM_PIXEL_BYTES} bytes")
    if len(content) != math.prod(shape):
        raise ValueError(f"{len(content)} bytes of images instead of {math.prod(shape)}")
    return torch.frombuffer(bytearray(content), dtype=torch.uint8).view(-1, 3, 32, 32)


def _labels(labels: Any) -> Labels:
    if not isinstance(labels, list) or not all(isinstance(label, int) for label in labels):
        raise ValueError("the labels are no list of whole numbers")
    return torch.tensor(labels, dtype=torch.int64)
