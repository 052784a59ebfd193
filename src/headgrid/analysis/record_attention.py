"""The attention of any model on a batch of images: `record_attention(model, images)`.

Models of headgrid hand their attention back when asked (``record=True``).
"""

import inspect
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from headgrid.analysis.attention_record import AttentionRecord, LayerAttention
from headgrid.analysis.recorded_layer import MapsTooLargeError, Output, layer_of_convolution, layer_of_output
from headgrid.axes import Images
from headgrid.theory import ConvertedConvolution
from headgrid.theory.cost import evaluating


@torch.no_grad()
def record_attention(model: nn.Module, images: Images) -> AttentionRecord:
    """Runs the model in eval mode and hands back what every attention layer looked at.

    The model is left as it was. The maps stand on the model's device, in at least float32.
    """
    with evaluating(model):
        if "record" in inspect.signature(model.forward).parameters:
            record = _of_own_model(model, images)
        else:
            record = _of_converted_model(model, images)
    if not record.layers:
        reasons = "".join(f"; {name}: {reason}" for name, reason in record.left_out.items())
        raise ValueError(f"no attention of {type(model).__name__} can be recorded{reasons or ': it has none'}")
    return record


def record_batches(model: nn.Module, batches: Iterable[Images | tuple[Images, Any]]) -> Iterator[AttentionRecord]:
    """The record of one batch after the other; batches may have labels, as those of a data set.

    No record is kept here: whoever takes sums of one and lets go of it needs the memory of one batch of maps,
    however many images there are.
    """
    for batch in batches:
        yield record_attention(model, batch if isinstance(batch, Tensor) else batch[0])


def _of_own_model(model: nn.Module, images: Images) -> AttentionRecord:
    output, attended = model(images, record=True)
    image_size = (images.shape[2], images.shape[3])
    layers, left_out = {}, {}
    for name, given in attended.items():
        assert isinstance(given, Output), f"layer {name} recorded a {type(given).__name__}"
        try:
            layers[name] = layer_of_output(name, given, image_size)
        except MapsTooLargeError as reason:
            left_out[name] = str(reason)
    return AttentionRecord(layers, output, image_size, left_out)


def _of_converted_model(model: nn.Module, images: Images) -> AttentionRecord:
    """Convolutions that Theorem 1 turned into attention: their maps follow from the size of their input."""
    names = {module: name for name, module in model.named_modules() if isinstance(module, ConvertedConvolution)}
    image_size = (images.shape[2], images.shape[3])
    layers: dict[str, LayerAttention] = {}
    left_out: dict[str, str] = {}

    def note(layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        assert isinstance(layer, ConvertedConvolution)
        name, size = f"{names[layer]}.attention".lstrip("."), inputs[0].shape[2:]
        if len(size) != 2:
            left_out[name] = "it runs on sequences, not on maps of the image"
            return
        try:
            layers[name] = layer_of_convolution(name, layer, len(images), (size[0], size[1]), image_size)
        except MapsTooLargeError as reason:
            left_out[name] = str(reason)

    handles = [layer.register_forward_pre_hook(note) for layer in names]
    try:
        output = model(images)
    finally:
        for handle in handles:
            handle.remove()
    return AttentionRecord(layers, output, image_size, left_out)
