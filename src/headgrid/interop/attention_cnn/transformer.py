"""The original's attention-only network (its `BertImage`) as our `FullyAttentional`.

The networks are the same layer by layer; what differs is names.
"""

import math
import re
from collections.abc import Mapping

from torch import Tensor

from headgrid.attention import MultiheadAttentionConfig
from headgrid.interop.attention_cnn.options import Options
from headgrid.interop.attention_cnn.scores import learned_scores, quadratic_scores, weight_and_bias
from headgrid.interop.foreign_weights import carry_over, shape_of, without_storage
from headgrid.layers import Activation
from headgrid.models import FullyAttentional, FullyAttentionalConfig
from headgrid.stacks import PaperBlockConfig

ACTIVATIONS: dict[str, Activation] = {"gelu": "gelu", "relu": "relu", "swish": "silu"}

BUFFERS = re.compile(r"attention_mask|encoder\.layer\.\d+\.attention\.self\.(R|relative_indices)")
"""Entries that hold constants, which our network computes."""

BLOCK = {
    "attention.mixing": "attention.self.value",
    "projection": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "feed_forward.widen": "intermediate.dense",
    "feed_forward.narrow": "output.dense",
    "feed_forward_norm": "output.LayerNorm",
}
"""Our module -> the original's, in each layer."""


def translate_transformer(entries: Mapping[str, Tensor], options: Options) -> FullyAttentional:
    """Our model with the original's weights, in eval mode."""
    entries = {name: value for name, value in entries.items() if not BUFFERS.fullmatch(name)}
    if options.hidden_act not in ACTIVATIONS:
        raise ValueError(
            f"the config says hidden_act = {options.hidden_act}: the original knows {', '.join(ACTIVATIONS)}"
        )
    hidden, pixel = shape_of(entries, "features_upscale.weight", "hidden_size", "channels of a cell")
    options.agree("hidden_size", hidden, "features_upscale.weight")
    cell = math.isqrt(pixel // 3)
    if pixel != 3 * cell**2:
        raise ValueError(
            f"entry features_upscale.weight takes {pixel} channels: "
            f"expected 3 times a square, as a cell of colour pixels has"
        )
    options.agree("pooling_concatenate_size", cell, "features_upscale.weight")
    num_classes, _ = shape_of(entries, "classifier.weight", "classes", "hidden_size")

    num_layers = _num_layers(entries, options)
    heads = tuple(_num_heads(entries, options, layer, hidden) for layer in range(num_layers))
    intermediate, _ = shape_of(
        entries, "encoder.layer.0.intermediate.dense.weight", "intermediate_size", "hidden_size"
    )
    options.agree("intermediate_size", intermediate, "encoder.layer.0.intermediate.dense.weight")
    if options.use_gaussian_attention:
        scores = quadratic_scores(entries, options, cell)
    else:
        scores = learned_scores(entries, options, hidden, cell)

    most_heads = max(heads) if options.num_attention_heads is None else options.num_attention_heads
    config = FullyAttentionalConfig(
        dim=hidden,
        num_layers=num_layers,
        pixel_concatenation=cell,
        attention=MultiheadAttentionConfig(
            num_heads=most_heads,
            scores=scores.terms,
            dropout=scores.dropout,
        ),
        block=PaperBlockConfig(
            hidden_dim=intermediate,
            activation=ACTIVATIONS[options.hidden_act],
            dropout=options.hidden_dropout_prob,
            norm_epsilon=options.layer_norm_eps,
        ),
        heads_per_layer=None if set(heads) == {most_heads} else heads,
        image_size=(scores.image_side, scores.image_side),
        num_classes=num_classes,
    )
    return carry_over(without_storage(config.build), entries, _names(num_layers, scores.names))


def _num_layers(entries: Mapping[str, Tensor], options: Options) -> int:
    layers = {int(found[1]) for name in entries if (found := re.match(r"encoder\.layer\.(\d+)\.", name))}
    if layers != set(range(len(layers))) or not layers:
        raise ValueError(
            f"the weights hold the layers {sorted(layers)} under encoder.layer: "
            f"expected all from 0 to the last, so give the complete state dict of the original's model"
        )
    return options.agree("num_hidden_layers", len(layers), f"encoder.layer.{max(layers)}")


def _num_heads(entries: Mapping[str, Tensor], options: Options, layer: int, hidden: int) -> int:
    """The heads that a layer has: as many as the config says, or fewer after pruning."""
    name = f"encoder.layer.{layer}.attention.self.value.weight"
    _, width = shape_of(entries, name, "hidden_size", "heads * hidden_size")
    if width % hidden:
        raise ValueError(
            f"entry {name} of the weights has {width} columns: expected a multiple of hidden_size = {hidden}"
        )
    num_heads, listed = width // hidden, options.num_attention_heads
    if listed is not None and num_heads > listed:
        raise ValueError(
            f"the config says num_attention_heads = {listed}, and by entry {name} of the weights there are "
            f"{num_heads}: pruning leaves fewer heads, never more, so give the config that belongs to these weights"
        )
    return num_heads


def _names(num_layers: int, score_names: Mapping[str, str]) -> dict[str, str]:
    names = weight_and_bias("embedding", "features_upscale") | weight_and_bias("classifier.linear", "classifier")
    in_a_layer = dict(score_names)
    for ours, theirs in BLOCK.items():
        in_a_layer |= weight_and_bias(ours, theirs)
    for layer in range(num_layers):
        for ours, theirs in in_a_layer.items():
            names[f"stack.blocks.{layer}.{ours}"] = f"encoder.layer.{layer}.{theirs}"
    return names
