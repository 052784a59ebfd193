"""A whole model with its attention compiled into convolutions wherever that is certified.

Every multi-head attention layer whose maps depend on the shift alone becomes a convolution with attention at the
borders (`attention_to_convolution`); layers that look at the image are described by `head_to_shift` and stay.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from headgrid.attention import GatedPositionalAttention, MultiheadAttention
from headgrid.scores import Structure
from headgrid.theory.attention_to_convolution import Compilation, CompiledAttention, attention_to_convolution
from headgrid.theory.compilation_report import CompilationReport, CompiledLayer, Cost, UncompiledLayer, WholeModel
from headgrid.theory.convert_convolution import ConvertedConvolution
from headgrid.theory.cost import evaluating, median_seconds, multiply_adds, tensors_of
from headgrid.theory.head_to_shift import HeadToShift, head_to_shift

AttentionLayer = MultiheadAttention | GatedPositionalAttention
Call = tuple[Tensor, Tensor | None]
"""The pixels and the key that a layer was called with."""
NUM_IMAGES_WITH_MAPS = 8
"""The maps of layers that look at the image are recorded for at most so many."""


@dataclass(frozen=True)
class CompiledModel:
    """The model with compiled layers, and what the compilation found."""

    model: nn.Module
    report: CompilationReport


def compile_model(
    model: nn.Module, tolerance: float, images: Tensor, accuracy: Callable[[nn.Module], float] | None = None
) -> CompiledModel:
    """Compiles a copy of the model for maps of the size that ``images`` give its layers.

    Errors, times and multiply-adds are measured on ``images`` in eval mode, each layer on the input that it gets in
    the original model. ``accuracy`` is called with the model before and after.
    """
    places = attention_layers_of(model)
    if not places:
        raise ValueError("the model has no multi-head attention layer of headgrid that could be compiled")
    with evaluating(model), torch.no_grad():
        calls = _calls(model, images, places)
        compilations = {layer: _compile(layer, calls[layer], tolerance) for layer in places}
        layers = [_measured(names, layer, compilations[layer], calls[layer]) for layer, names in places.items()]
        expected = tensors_of(model(images))
        seconds_before = median_seconds(lambda: model(images), images.device)
        accuracy_before = None if accuracy is None else accuracy(model)

    modules: dict[nn.Module, nn.Module] = {layer: compilation.module for layer, compilation in compilations.items()}
    compiled = copy_with(model, modules)
    with evaluating(compiled), torch.no_grad():
        outputs = tensors_of(compiled(images))
        whole = WholeModel(
            num_images=len(images),
            error=max(float((new - old).abs().max()) for old, new in zip(expected, outputs, strict=True)),
            scale=max(float(old.abs().max()) for old in expected),
            seconds_before=seconds_before,
            seconds_after=median_seconds(lambda: compiled(images), images.device),
            accuracy_before=accuracy_before,
            accuracy_after=None if accuracy is None else accuracy(compiled),
        )
    compiled_layers = tuple(layer for layer in layers if isinstance(layer, CompiledLayer))
    others = tuple(layer for layer in layers if isinstance(layer, UncompiledLayer))
    return CompiledModel(compiled, CompilationReport(tolerance, compiled_layers, others, whole))


def attention_layers_of(model: nn.Module) -> dict[AttentionLayer, tuple[str, ...]]:
    """The attention layers of a model with the names of the places where they stand.

    The attention inside of a converted convolution is left out: it has a convolution to go back to.
    """
    wholes = (ConvertedConvolution, CompiledAttention)
    inside = {part for module in model.modules() if isinstance(module, wholes) for part in module.modules()}
    places: dict[AttentionLayer, tuple[str, ...]] = {}
    for name, module in model.named_modules(remove_duplicate=False):
        if isinstance(module, AttentionLayer) and module not in inside:
            places[module] = (*places.get(module, ()), name)
    return places


def copy_with(model: nn.Module, modules: dict[nn.Module, nn.Module]) -> nn.Module:
    """A copy of the model in which other modules stand for some layers."""
    if model in modules:
        return copy.deepcopy(modules[model])
    # deepcopy asks its memo before it copies: a layer that already has a copy there is replaced wherever it stands.
    return copy.deepcopy(model, {id(layer): copy.deepcopy(module) for layer, module in modules.items()})


def _calls(
    model: nn.Module, images: Tensor, places: dict[AttentionLayer, tuple[str, ...]]
) -> dict[AttentionLayer, list[Call]]:
    """Runs the model and notes what each of its attention layers is called with."""
    calls: dict[AttentionLayer, list[Call]] = {layer: [] for layer in places}

    def note(layer: nn.Module, positional: tuple, named: dict) -> None:
        given = dict(zip(("pixels", "key"), positional, strict=False)) | named
        assert isinstance(layer, AttentionLayer)
        calls[layer].append((given["pixels"], given.get("key")))

    handles = [layer.register_forward_pre_hook(note, with_kwargs=True) for layer in places]
    try:
        model(images)
    finally:
        for handle in handles:
            handle.remove()
    return calls


def _compile(layer: AttentionLayer, calls: list[Call], tolerance: float) -> Compilation:
    if not calls:
        return Compilation(layer, None, "the images do not reach it")
    if isinstance(layer, GatedPositionalAttention):
        return Compilation(layer, None, "its attention depends on the image, not on the shift alone")
    height = max(pixels.shape[1] for pixels, _ in calls)
    width = max(pixels.shape[2] for pixels, _ in calls)
    return attention_to_convolution(layer, tolerance, (height, width))


def _measured(
    names: tuple[str, ...], layer: AttentionLayer, compilation: Compilation, calls: list[Call]
) -> CompiledLayer | UncompiledLayer:
    compiled, certificate = compilation.module, compilation.certificate
    if certificate is None or not isinstance(compiled, CompiledAttention):
        assert compilation.reason is not None
        return UncompiledLayer(names, layer.num_heads, compilation.reason, _heads(layer, calls))
    pixels = calls[0][0]
    return CompiledLayer(
        names=names,
        num_heads=layer.num_heads,
        certificate=certificate,
        num_border_pixels=compiled.num_border_pixels(*pixels.shape[1:3]),
        bound=max(certificate.bound.on(given) for given, _ in calls),
        error=max(float((compiled(given).values - layer(given).values).abs().max()) for given, _ in calls),
        scale=max(float(layer(given).values.abs().max()) for given, _ in calls),
        attention=_cost(lambda: layer(pixels), pixels),
        interior=_cost(lambda: compiled.interior(pixels), pixels),
        border=_cost(lambda: compiled.border(pixels), pixels),
    )


def _cost(run: Callable[[], object], pixels: Tensor) -> Cost:
    return Cost(macs=multiply_adds(run) // len(pixels), seconds=median_seconds(run, pixels.device) / len(pixels))


def _heads(layer: AttentionLayer, calls: list[Call]) -> HeadToShift | None:
    """What the heads of a layer that looks at the image look at; needs two images."""
    positional = isinstance(layer, MultiheadAttention) and layer.score.structure is not Structure.CONTENT
    if positional or not calls or len(calls[0][0]) < 2:
        return None
    pixels, key = (None if part is None else part[:NUM_IMAGES_WITH_MAPS] for part in calls[0])
    return head_to_shift(layer(pixels, key, record=True).weights)
