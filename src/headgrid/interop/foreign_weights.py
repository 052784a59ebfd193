"""The weights of another project's model: found by their names there, checked, carried over into ours."""

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

Model = TypeVar("Model", bound=nn.Module)


def named_tensors(state: Mapping[str, Any]) -> dict[str, Tensor]:
    """The entries of a state dict, without the prefix that `torch.nn.DataParallel` puts before every name."""
    for name, value in state.items():
        if not isinstance(name, str) or not isinstance(value, Tensor):
            raise ValueError(
                f"entry {name} of the weights is not a tensor but of type {type(value).__name__}: "
                f"give the state dict of a model, which maps names to tensors"
            )
    if state and all(name.startswith("module.") for name in state):
        return {name.removeprefix("module."): value for name, value in state.items()}
    return dict(state)


def shape_of(entries: Mapping[str, Tensor], name: str, *axes: str) -> tuple[int, ...]:
    """The shape of an entry that tells the size of the model; ``axes`` say what each axis counts."""
    if name not in entries:
        raise ValueError(f"the weights have no entry {name}: give the complete state dict of the original's model")
    shape = tuple(entries[name].shape)
    if len(shape) != len(axes) or 0 in shape:
        raise ValueError(
            f"entry {name} of the weights has the shape {_text(shape)}: expected {' x '.join(axes)}, none of them 0"
        )
    return shape


def without_storage(build: Callable[[], Model]) -> Model:
    """A model whose weights have shapes and no values: nothing is drawn at random that would be thrown away."""
    with torch.device("meta"):
        return build()


def carry_over(model: Model, entries: Mapping[str, Tensor], names: Mapping[str, str]) -> Model:
    """Gives a model without storage the weights of the original, and returns it in eval mode.

    ``names`` maps each name of our state dict to the original's. Every entry must be used, and fit. The floating
    point type of the weights is kept.
    """
    expected = model.state_dict()
    assert expected.keys() == names.keys(), f"unnamed or unknown parameters: {expected.keys() ^ names.keys()}"

    for name in sorted(entries.keys() - set(names.values())):
        raise ValueError(
            f"the weights have an entry {name} that this network has no place for: "
            f"check that the config belongs to these weights"
        )
    for ours, theirs in names.items():
        if theirs not in entries:
            raise ValueError(
                f"the weights have no entry {theirs}, which this network needs: "
                f"check that the config belongs to these weights"
            )
        if entries[theirs].shape != expected[ours].shape:
            raise ValueError(
                f"entry {theirs} of the weights has the shape {_text(entries[theirs].shape)} where the network has "
                f"{_text(expected[ours].shape)}: check that the config belongs to these weights"
            )

    floating = [tensor.dtype for tensor in entries.values() if tensor.is_floating_point()]
    dtype = reduce(torch.promote_types, floating)
    state = {}
    for ours, theirs in names.items():
        kept = dtype if expected[ours].is_floating_point() else expected[ours].dtype
        state[ours] = entries[theirs].detach().clone().to(kept)
    model.load_state_dict(state, assign=True)
    return model.eval()


def _text(shape: tuple[int, ...]) -> str:
    return " x ".join(str(size) for size in shape) or "of a single number"
