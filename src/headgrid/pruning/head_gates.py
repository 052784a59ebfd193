"""A gate on every head: what its result is multiplied by before the output matrix.

A head with gate 0 contributes nothing, as if it were removed; the derivative of the loss by a gate at 1 tells how
much the model relies on the head (Michel, Levy and Neubig 2019).
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from jaxtyping import Float
from torch import Tensor, nn

from headgrid.pruning.prunable_layers import PrunableLayer

Gates = Float[Tensor, "b n"] | Float[Tensor, "n"]
"""A number per head, for all images alike or for each image."""


@contextmanager
def gated_heads(layers: Iterable[PrunableLayer], gates: Mapping[str, Gates]) -> Iterator[None]:
    """For a while the heads of these layers are multiplied by the gates under the layers' names."""
    handles = [
        module.mixing.register_forward_pre_hook(partial(_multiply, gates[layer.name]))
        for layer in layers
        for module in layer.modules
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _multiply(gates: Gates, mixing: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    (heads,) = inputs  # (image, places..., head, channel)
    batch = gates.shape[:-1]
    places = heads.dim() - 2 - len(batch)
    return (heads * gates.view(*batch, *(1,) * places, gates.shape[-1], 1).to(heads.dtype),)
