"""The name of a foreign model: `SOURCE:NAME[,weights=...][,OPTION=VALUE ...]`."""

import ast
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headgrid.interop.foreign_model.weights import PublishedWeights, RandomWeights, Weights, WeightsFile

SOURCES = ("timm", "torchvision", "hf", "module")

_NEXT_OPTION = re.compile(r",(?=[A-Za-z_]\w*=)")
"""A comma inside of a value, as in img_size=(64,96), separates nothing."""


@dataclass(frozen=True)
class ModelName:
    source: str
    """timm, torchvision, hf or module."""
    name: str
    """What the source calls the model: a name, a folder, a factory."""
    weights: Weights = field(default_factory=PublishedWeights)
    options: dict[str, Any] = field(default_factory=dict)
    """What the source's function that makes the model is called with."""


def is_foreign_name(word: str) -> bool:
    """Whether the word begins with a source; a path is never one, for it can be written with ./ before it."""
    return word.partition(":")[0] in SOURCES and ":" in word


def read_model_name(word: str) -> ModelName:
    source, _, rest = word.partition(":")
    if not is_foreign_name(word):
        raise ValueError(f"{word} names no foreign model: expected one of {', '.join(s + ':...' for s in SOURCES)}")
    name, *pairs = _NEXT_OPTION.split(rest)
    if not name:
        raise ValueError(f"{word} lacks a name after {source}:")
    texts: dict[str, str] = {}
    for pair in pairs:
        key, _, text = pair.partition("=")
        if key in texts:
            raise ValueError(f"{word} gives {key} twice")
        texts[key] = text
    weights = _weights(texts.pop("weights", "published"), word)
    for key in ("pretrained", "checkpoint_path", "pretrained_cfg"):
        if source == "timm" and key in texts:
            raise ValueError(
                f"{word}: leave {key} out; weights are chosen with weights=published, random or FILE.safetensors"
            )
    return ModelName(source, name, weights, {key: _value(text) for key, text in texts.items()})


def _weights(text: str, word: str) -> Weights:
    if text == "published":
        return PublishedWeights()
    if text == "random":
        return RandomWeights()
    if Path(text).suffix != ".safetensors":
        raise ValueError(f"{word}: weights should be published, random, or a file that ends in .safetensors")
    return WeightsFile(Path(text).expanduser())


def _value(text: str) -> Any:
    """A number, tuple, True, False or None as Python writes them; everything else is text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
