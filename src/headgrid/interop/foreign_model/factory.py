"""`module:path.to.factory`: whatever a function or class on the user's Python path makes."""

import sys
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any

from torch import nn

from headgrid.interop.foreign_model.foreign_model import ForeignModel, UnwrappedLogits
from headgrid.interop.foreign_model.model_name import ModelName
from headgrid.interop.foreign_model.suggestion import suggestion
from headgrid.interop.foreign_model.weights import RandomWeights, WeightsFile, drawn_with, load_weights_file


def open_factory(wanted: ModelName, word: str) -> ForeignModel:
    """The current folder is searched too, as by `python -m`."""
    if isinstance(wanted.weights, RandomWeights):
        raise ValueError(f"{word}: the weights of a factory's model are the factory's; leave weights=random out")
    factory = _find(wanted.name, word)
    try:
        signature(factory).bind(**wanted.options)
    except TypeError as error:
        given = ", ".join(f"{key}={value!r}" for key, value in wanted.options.items()) or "no options"
        raise ValueError(f"{wanted.name} cannot be called with {given}: {error}") from error
    with drawn_with(0):
        original = factory(**wanted.options)
    if not isinstance(original, nn.Module):
        raise ValueError(f"{wanted.name} gives an object of type {type(original).__name__}: expected an nn.Module")
    if isinstance(wanted.weights, WeightsFile):
        load_weights_file(original, wanted.weights, word)
    original.eval()
    return ForeignModel(name=word, module=UnwrappedLogits(original), original=original)


def _find(path: str, word: str) -> Any:
    module_name, _, attribute = path.rpartition(".")
    if not module_name:
        raise ValueError(f"{word} should say where the factory is, such as module:my_models.make_network")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        spec = find_spec(module_name)
    except ModuleNotFoundError:  # of a package that the module would stand in
        spec = None
    if spec is None:
        raise ValueError(f"there is no Python module {module_name} here or on the Python path")
    module = import_module(module_name)
    if not callable(getattr(module, attribute, None)):
        known = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
        raise ValueError(f"{module_name} has no function or class {attribute!r}: {suggestion(attribute, known)}")
    return getattr(module, attribute)
