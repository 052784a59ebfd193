"""Weights of attention-cnn, the code of Cordonnier et al. (2020), as our models."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from headgrid.interop.attention_cnn.options import TRANSFORMER, read_options
from headgrid.interop.attention_cnn.resnet import RESNETS, translate_resnet
from headgrid.interop.attention_cnn.transformer import translate_transformer
from headgrid.interop.foreign_weights import named_tensors
from headgrid.models import FullyAttentional, ResNet


def translate(state: Mapping[str, Tensor], config: Mapping[str, Any]) -> FullyAttentional | ResNet:
    """Our model that computes what the original computes: images in, logits out, in eval mode.

    ``state`` is the original's state dict, ``config`` its config (what `config.yaml` of a run holds). Sizes that
    the config does not list are read off the weights, as are the heads that pruning has left in each layer; a
    contradiction between the two, and options that no model of ours has, are errors.
    """
    options = read_options(config)
    if options.model in RESNETS:
        return translate_resnet(named_tensors(state), options.model)
    if options.model != TRANSFORMER:
        raise ValueError(
            f"the config says model = {options.model}: only {TRANSFORMER} (the attention-only network) and "
            f"{', '.join(RESNETS)} can be translated"
        )
    return translate_transformer(named_tensors(state), options)


def translate_resnet18(state: Mapping[str, Tensor]) -> ResNet:
    """Our ResNet-18 with the original's weights, in eval mode."""
    return translate_resnet(named_tensors(state), "resnet18")
