"""Every convolution of a network as attention, with a report that hides nothing.

Works on any ``nn.Module``: convolutions are found by type and replaced where they stand; everything else (norms,
activations, pooling, linear layers) stays. A convolution that several places share becomes one attention that they
share.
"""

import copy
from collections import Counter
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from headgrid.theory.conversion_report import ConversionReport, ConvertedLayer, KeptLayer, Verification
from headgrid.theory.convert_convolution import ConvertedConvolution, convert_convolution, why_not_convertible
from headgrid.theory.cost import evaluating, median_seconds, multiply_adds, num_parameters, tensors_of

Replacements = dict[nn.Module, ConvertedConvolution]


@dataclass(frozen=True)
class ConvertedNetwork:
    """The network whose convolutions are attention, and what the conversion found."""

    model: nn.Module
    report: ConversionReport


def convert_network(
    model: nn.Module, images: Tensor | None = None, in_place: bool = False, sharpness: float | None = None
) -> ConvertedNetwork:
    """Replaces every convolution that Theorem 1 covers; the rest is named in the report with the reason.

    With ``images`` both networks run on them, in eval mode: the report then holds each layer's error on the input
    that it gets in the original network, the error of the outputs, multiply-adds and times. ``model`` itself stays
    as it is unless ``in_place``; a model that *is* a convolution can only be replaced, so use what is returned.
    """
    model = model if in_place else copy.deepcopy(model)
    places = convolutions_of(model)
    reasons = {convolution: _why_kept(convolution, model) for convolution in places}
    replacements: Replacements = {
        convolution: convert_convolution(convolution, sharpness)
        for convolution, reason in reasons.items()
        if reason is None
    }
    layers = {old: _layer(places[old], old, new) for old, new in replacements.items()}
    kept = tuple(KeptLayer(places[old], type(old).__name__, why) for old, why in reasons.items() if why is not None)
    num_before = num_parameters(model)
    if images is None:
        model = _replace(model, replacements)
        report = ConversionReport(tuple(layers.values()), kept, num_before, num_parameters(model), None)
        return ConvertedNetwork(model, report)

    with evaluating(model), torch.no_grad():
        layers = _measured(model, images, replacements, layers)
        expected = tensors_of(model(images))
        seconds_before = median_seconds(lambda: model(images), images.device)
    converted = _replace(model, replacements)
    with evaluating(converted), torch.no_grad():
        outputs = tensors_of(converted(images))
        seconds_after = median_seconds(lambda: converted(images), images.device)
    verification = Verification(
        num_images=len(images),
        error=max(float((new - old).abs().max()) for old, new in zip(expected, outputs, strict=True)),
        scale=max(float(old.abs().max()) for old in expected),
        seconds_before=seconds_before,
        seconds_after=seconds_after,
    )
    report = ConversionReport(tuple(layers.values()), kept, num_before, num_parameters(converted), verification)
    return ConvertedNetwork(converted, report)


def convolutions_of(model: nn.Module) -> dict[nn.Module, tuple[str, ...]]:
    """All convolutions of a model with the names of the places where they stand."""
    places: dict[nn.Module, tuple[str, ...]] = {}
    for name, module in model.named_modules(remove_duplicate=False):
        if isinstance(module, nn.modules.conv._ConvNd):
            places[module] = (*places.get(module, ()), name)
    return places


def _why_kept(convolution: nn.Module, model: nn.Module) -> str | None:
    reason = why_not_convertible(convolution)
    if reason is not None:
        return reason
    owners = Counter(parameter for module in model.modules() for parameter in module._parameters.values())
    if any(owners[parameter] > 1 for parameter in convolution.parameters()):
        return "another module uses the same parameter, and the conversion would part them"
    return None


def _layer(names: tuple[str, ...], old: nn.Module, new: ConvertedConvolution) -> ConvertedLayer:
    return ConvertedLayer(
        names=names,
        kind=type(old).__name__,
        kernel_size=new.kernel_size,
        num_heads=new.attention.num_heads,
        num_parameters_before=num_parameters(old),
        num_parameters_after=num_parameters(new),
    )


def _measured(
    model: nn.Module, images: Tensor, replacements: Replacements, layers: dict[nn.Module, ConvertedLayer]
) -> dict[nn.Module, ConvertedLayer]:
    """Runs the original network; at every convolution the attention gets the same input."""
    layers = dict(layers)

    def compare(old: nn.Module, inputs: tuple[Tensor, ...], expected: Tensor) -> None:
        new, layer = replacements[old], layers[old]
        layers[old] = replace(
            layer,
            error=max(layer.error or 0.0, float((new(*inputs) - expected).abs().max())),
            scale=max(layer.scale or 0.0, float(expected.abs().max())),
            macs_before=(layer.macs_before or 0) + multiply_adds(lambda: old.forward(*inputs)) // len(images),
            macs_after=(layer.macs_after or 0) + multiply_adds(lambda: new.forward(*inputs)) // len(images),
        )

    handles = [old.register_forward_hook(compare) for old in replacements]
    try:
        model(images)
    finally:
        for handle in handles:
            handle.remove()
    return layers


def _replace(model: nn.Module, replacements: Replacements) -> nn.Module:
    if model in replacements:
        return replacements[model]
    for parent in list(model.modules()):
        for name, child in list(parent._modules.items()):
            if child in replacements:
                setattr(parent, name, replacements[child])
    return model
