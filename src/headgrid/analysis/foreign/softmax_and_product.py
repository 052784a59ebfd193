"""Attention that is written out by hand: a softmax of scores, and its product with values.

Neither alone is attention. So the result of every softmax is followed through whatever keeps its size (dropout,
casts, transposes, a product with a gate, a mix of heads) until it is multiplied with something that is no
parameter: the values. What is multiplied there is the map, as it acts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn
from torch.utils.weak import WeakTensorKeyDictionary

SOFTMAX = {"softmax", "special_softmax"}
PRODUCTS = {"matmul", "__matmul__", "__rmatmul__", "bmm", "baddbmm", "einsum"}
SAME_WEIGHTS = {"dropout", "dropout_", "to", "type", "type_as", "float", "half", "bfloat16", "double", "contiguous"}
LEAST_AXES = 3
"""Maps and values have an axis of images; class probabilities and mixing matrices have two axes only."""


@dataclass
class _Softmax:
    """Where the numbers of a tensor come from."""

    layer: str
    """The module that took it."""
    of_scores: bool
    """Whether the softmax was taken of a product, as of queries and keys."""
    applied: bool = False
    """Whether a product with values has been seen already."""
    alone: bool = False
    """Whether it was taken of queries or keys alone, tokens by channels, and multiplied with the others."""


@dataclass(frozen=True)
class _Followed:
    softmaxes: tuple[_Softmax, ...]
    weights: Tensor | None
    """The map before dropout and in its full precision, where nothing else has been done to it."""


class SoftmaxAndProduct:
    """Watches calls, one by one. Tensors are not kept alive by being watched."""

    def __init__(self) -> None:
        self._scores = WeakTensorKeyDictionary()
        self._followed = WeakTensorKeyDictionary()
        self._softmaxes: list[_Softmax] = []

    def no_maps(self) -> Iterator[tuple[str, str]]:
        """The layers with softmaxes that look like attention and gave no map, each with the reason."""
        for softmax in self._softmaxes:
            if softmax.alone:
                yield softmax.layer, "it is linear attention (softmaxes of queries and keys alone): there is no map"
            elif softmax.of_scores and not softmax.applied:
                yield softmax.layer, "the softmax of its scores is multiplied with values in a way that is not seen"

    def see(
        self, layer: str, function: str, args: Sequence[Any], kwargs: Mapping[str, Any], output: Any
    ) -> Float[Tensor, "*batch t s"] | None:
        """The attention weights, if this call applies some for the first time."""
        if not isinstance(output, Tensor):
            return None
        tensors = list(_tensors([*args, *kwargs.values()]))
        if function in SOFTMAX:
            if output.dim() >= LEAST_AXES:
                softmax = _Softmax(layer, of_scores=any(tensor in self._scores for tensor in tensors))
                self._softmaxes.append(softmax)
                self._followed[output] = _Followed((softmax,), None)
            return None
        if function in PRODUCTS:
            weights = self._applied(function, args, tensors)
            if weights is not None:
                return weights
        self._follow(function, tensors, output)
        return None

    def _applied(self, function: str, args: Sequence[Any], tensors: list[Tensor]) -> Tensor | None:
        left, right = tensors[-2:] if len(tensors) >= 2 else (None, None)
        if left is None or right is None:
            return None
        if function == "__rmatmul__":
            left, right = right, left
        for weights, values, is_left in ((left, right, True), (right, left, False)):
            followed = self._followed.get(weights)
            if followed is None or isinstance(values, nn.Parameter) or values.dim() < LEAST_AXES:
                continue
            if all(softmax.applied for softmax in followed.softmaxes):
                return None
            weights = weights if followed.weights is None else followed.weights
            if function == "einsum" and isinstance(args[0], str):
                weights = _by_letters(weights, args[0], is_left)
            elif not is_left:
                weights = weights.mT
            from_scores = any(softmax.of_scores for softmax in followed.softmaxes)
            if weights is not None and not from_scores and values.shape[-1] in weights.shape[-2:]:
                weights = None
                for softmax in followed.softmaxes:
                    softmax.alone = True
            for softmax in followed.softmaxes:
                softmax.applied |= weights is not None
            return weights
        return None

    def _follow(self, function: str, tensors: list[Tensor], output: Tensor) -> None:
        if function in PRODUCTS and not any(tensor in self._followed for tensor in tensors):
            self._scores[output] = True
            return
        same_size = [tensor for tensor in tensors if tensor.numel() == output.numel() and tensor is not output]
        sources = [self._followed[tensor] for tensor in same_size if tensor in self._followed]
        if sources:
            weights = None
            if function in SAME_WEIGHTS:
                weights = same_size[0] if sources[0].weights is None else sources[0].weights
            softmaxes = {id(softmax): softmax for source in sources for softmax in source.softmaxes}
            self._followed[output] = _Followed(tuple(softmaxes.values()), weights)
        elif any(tensor in self._scores for tensor in same_size):
            self._scores[output] = True


def _by_letters(weights: Tensor, equation: str, is_left: bool) -> Tensor | None:
    """The weights as (..., queries, keys), by the letters of an einsum with the values; grids are flattened."""
    if "..." in equation or "->" not in equation or equation.count(",") != 1:
        return weights
    inputs, result = equation.replace(" ", "").split("->")
    of_weights, of_values = inputs.split(",") if is_left else reversed(inputs.split(","))
    shared = [letter for letter in of_weights if letter in of_values and letter in result]
    queries = [letter for letter in of_weights if letter not in of_values]
    keys = [letter for letter in of_weights if letter in of_values and letter not in result]
    if not queries or not keys:
        return None
    ordered = weights.permute([of_weights.index(letter) for letter in (*shared, *queries, *keys)])
    return ordered.flatten(-len(keys)).flatten(len(shared), -2)


def _tensors(values: Sequence[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, tuple | list):
            yield from _tensors(value)
