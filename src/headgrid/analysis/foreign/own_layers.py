"""Layers of headgrid in a model that is not: they are asked for their weights when they are called."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from headgrid.analysis.foreign.attention_watch import AttentionWatch
from headgrid.analysis.foreign.running_module import RunningModule
from headgrid.analysis.recorded_layer import layer_of_convolution, layer_of_output
from headgrid.analysis.recording import Recording
from headgrid.attention import GatedPositionalAttention, MultiheadAttention, TokenAttention
from headgrid.attention.vector_attention import VectorAttention
from headgrid.theory import CompiledAttention, ConvertedConvolution

WHOLES = (ConvertedConvolution, CompiledAttention)
"""Layers with an attention inside that is not recorded by itself."""
OWN_LAYERS = (*WHOLES, MultiheadAttention, GatedPositionalAttention, TokenAttention, VectorAttention)


@contextmanager
def own_layers_recorded(
    model: nn.Module, running: RunningModule, watch: AttentionWatch, recording: Recording
) -> Iterator[None]:
    """While it lasts, calls of our layers are recorded, and what happens inside of them is not looked at."""

    def ask(layer: nn.Module, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]] | None:
        watch.paused += 1
        if isinstance(layer, ConvertedConvolution):
            return None
        call = inspect.signature(layer.forward).bind(*args, **kwargs)
        call.arguments["record"] = True
        return call.args, call.kwargs

    def note(layer: nn.Module, args: tuple, kwargs: dict[str, Any], output: Any) -> None:
        watch.paused -= 1
        name = running.name_of(layer)
        if isinstance(layer, ConvertedConvolution):
            maps: Tensor = args[0] if args else kwargs["images"]
            recording.add(
                f"{name}.attention",
                lambda name: layer_of_convolution(name, layer, tuple(maps.shape), recording.image_size),
            )
            if layer.num_axes == 2:
                watch.tokens.see(maps, output, (layer.stride[0], layer.stride[-1]))
        else:
            recording.add(name, lambda name: layer_of_output(name, output, recording.image_size))

    handles = []
    try:
        for layer in _own_layers_of(model):
            handles.append(layer.register_forward_pre_hook(ask, with_kwargs=True))
            handles.append(layer.register_forward_hook(note, with_kwargs=True))
        yield
    finally:
        for handle in handles:
            handle.remove()


def _own_layers_of(model: nn.Module) -> list[nn.Module]:
    inside = {part for module in model.modules() if isinstance(module, WHOLES) for part in module.modules()} - {
        module for module in model.modules() if isinstance(module, WHOLES)
    }
    return [module for module in model.modules() if isinstance(module, OWN_LAYERS) and module not in inside]
