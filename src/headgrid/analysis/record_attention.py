"""The attention of any model on a batch of images: `record_attention(model, images)`.

Models of headgrid hand their attention back when asked (``record=True``). All others are watched while they run:
each call of `nn.MultiheadAttention`, of `F.scaled_dot_product_attention`, and each softmax whose result is
multiplied with values, is attention, and what it looked at follows from the call. Nothing of the model is changed,
and it computes what it always does.
"""

import inspect
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.parallel import DataParallel, DistributedDataParallel

from headgrid.analysis.attention_record import AttentionRecord
from headgrid.analysis.foreign.record_foreign import record_foreign
from headgrid.analysis.recorded_layer import Output, layer_of_output
from headgrid.analysis.recording import Recording, in_words
from headgrid.axes import Images
from headgrid.theory.cost import evaluating


@torch.no_grad()
def record_attention(
    model: nn.Module,
    images: Float[Tensor, "*b c h w"],
    *,
    grid: tuple[int, int] | None = None,
    num_tokens: int | None = None,
) -> AttentionRecord:
    """Runs the model in eval mode and hands back what every attention layer looked at.

    The record of a layer that is used again is called ``<name>:1``, ``<name>:2``... For a foreign model whose
    tokens cannot be told from their number alone, ``grid`` gives the rows and columns of the patches, and
    ``num_tokens`` how many tokens stand beside them (class token, registers). Attention that is no map of the image
    is named in ``left_out``; a model without any other raises an error that says why.
    """
    if images.dim() != 4:
        raise ValueError(f"expected a batch of images (image, channel, row, column), got {tuple(images.shape)}")
    model = _unwrapped(model)
    with evaluating(model):
        if "record" in inspect.signature(model.forward).parameters:
            record = _record_own(model, images)
        else:
            record = record_foreign(model, images, grid, num_tokens)
    if not record.layers:
        raise ValueError(f"no attention of {type(model).__name__} can be recorded: {_why_none(record)}")
    return record


def record_batches(
    model: nn.Module,
    batches: Iterable[Tensor | tuple[Tensor, Any]],
    *,
    grid: tuple[int, int] | None = None,
    num_tokens: int | None = None,
) -> Iterator[AttentionRecord]:
    """The record of one batch after the other; batches may have labels, as those of a data set.

    No record is kept here: whoever takes sums of one and lets go of it needs the memory of one batch of maps,
    however many images there are.
    """
    for batch in batches:
        images = batch if isinstance(batch, Tensor) else batch[0]
        yield record_attention(model, images, grid=grid, num_tokens=num_tokens)


def _record_own(model: nn.Module, images: Images) -> AttentionRecord:
    output, attended = model(images, record=True)
    recording = Recording(len(images), (images.shape[2], images.shape[3]))
    for layer, given in attended.items():
        assert isinstance(given, Output), f"layer {layer} recorded a {type(given).__name__}"
        recording.add(layer, lambda name, given=given: layer_of_output(name, given, recording.image_size))
    return recording.finish(output)


def _unwrapped(model: nn.Module) -> nn.Module:
    """The model itself, without what spreads it over devices or compiles it."""
    while True:
        if isinstance(model, DataParallel | DistributedDataParallel):
            model = model.module
        elif isinstance(original := getattr(model, "_orig_mod", None), nn.Module):
            model = original
        else:
            return model


def _why_none(record: AttentionRecord) -> str:
    if not record.left_out:
        return (
            "it calls neither nn.MultiheadAttention nor F.scaled_dot_product_attention, and no softmax of its is "
            "multiplied with values (a kernel of its own is not seen: in transformers, load the model with "
            'attn_implementation="eager")'
        )
    return "; ".join(in_words(record.left_out))
