"""The original's attention-only network (its `BertImage`) as our `FullyAttentional`.

The networks are the same layer by layer; what differs is names. One of them misleads: without the query,
`row_embeddings` and `head_keys_row` of the original act on the shift between *columns*, and `col_...` on the shift
between rows; with the query, `row_embeddings` act on the shift between rows.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from headgrid.attention import DropoutPerBatch, DropoutPerImage, MultiheadAttentionConfig
from headgrid.interop.attention_cnn.options import Options
from headgrid.interop.foreign_weights import carry_over, shape_of, without_storage
from headgrid.layers import Activation
from headgrid.models import FullyAttentional, FullyAttentionalConfig
from headgrid.scores import (
    ContentConfig,
    GeneralizedQuadraticConfig,
    LearnedPositionConfig,
    QuadraticConfig,
    QueryPositionConfig,
    RandomCenters,
    ScoreTermConfig,
)
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

SELF = "attention.self"
TERM = "attention.score.terms.0"

QUADRATIC = {f"{TERM}.centers": f"{SELF}.attention_centers", f"{TERM}.spreads": f"{SELF}.attention_spreads"}
LEARNED = {
    f"{TERM}.encoding.row_table": f"{SELF}.col_embeddings.weight",
    f"{TERM}.encoding.column_table": f"{SELF}.row_embeddings.weight",
    f"{TERM}.row_vectors.weight": f"{SELF}.head_keys_col.weight",
    f"{TERM}.column_vectors.weight": f"{SELF}.head_keys_row.weight",
}
QUERY_POSITION = {
    f"{TERM}.encoding.row_table": f"{SELF}.row_embeddings.weight",
    f"{TERM}.encoding.column_table": f"{SELF}.col_embeddings.weight",
}
"""Our parameter -> the original's, in each layer, for each kind of position score."""


@dataclass(frozen=True)
class Scores:
    """What the attention scores: our terms, and where their parameters are found."""

    terms: tuple[ScoreTermConfig, ...]
    names: dict[str, str]
    dropout: DropoutPerBatch | DropoutPerImage
    image_side: int
    """Rows, and columns, of the largest image that the original's tables cover; of CIFAR's without tables."""


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
        scores = _quadratic(entries, options, cell)
    else:
        scores = _learned(entries, options, hidden, cell)

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


def _quadratic(entries: Mapping[str, Tensor], options: Options, cell: int) -> Scores:
    name = "encoder.layer.0.attention.self.attention_spreads"
    if name not in entries:
        raise ValueError(
            f"the weights have no entry {name}, which quadratic attention needs: "
            f"for learned attention the config says use_gaussian_attention = False, use_learned_2d_encoding = True"
        )
    isotropic = options.attention_isotropic_gaussian
    if isotropic is None:
        isotropic = entries[name].dim() == 1
    start = RandomCenters(options.gaussian_init_mu_std, options.gaussian_init_sigma_std)
    return Scores(
        terms=(QuadraticConfig(start) if isotropic else GeneralizedQuadraticConfig(start),),
        names=QUADRATIC,
        # One map and one mask for the whole batch.
        dropout=DropoutPerBatch(options.attention_probs_dropout_prob),
        image_side=math.ceil(32 / cell) * cell,
    )


def _learned(entries: Mapping[str, Tensor], options: Options, hidden: int, cell: int) -> Scores:
    name = "encoder.layer.0.attention.self.row_embeddings.weight"
    num_shifts, size = shape_of(entries, name, "shifts", "position_encoding_size")
    if num_shifts % 2 == 0:
        raise ValueError(
            f"entry {name} of the weights has {num_shifts} rows: expected 2 * max_position_embeddings - 1"
        )
    positions = options.agree("max_position_embeddings", (num_shifts + 1) // 2, name)
    if options.position_encoding_size != -1:  # -1 stands for the default
        options.agree("position_encoding_size", size, name)

    content = (ContentConfig(),) if options.use_attention_data else ()
    if options.query_positional_score:
        terms, names = (QueryPositionConfig(), *content), QUERY_POSITION
    else:
        width = hidden if options.position_encoding_size == -1 else size
        terms, names = (LearnedPositionConfig(None if width == hidden else width), *content), LEARNED
    if options.query_positional_score or content:
        names = names | _linear("attention.query", f"{SELF}.query")
    if content:
        names = names | _linear("attention.key", f"{SELF}.key")
    # The original repeats even a map without content for every image before it drops entries.
    return Scores(terms, names, DropoutPerImage(options.attention_probs_dropout_prob), positions * cell)


def _names(num_layers: int, score_names: Mapping[str, str]) -> dict[str, str]:
    names = _linear("embedding", "features_upscale") | _linear("classifier.linear", "classifier")
    in_a_layer = dict(score_names)
    for ours, theirs in BLOCK.items():
        in_a_layer |= _linear(ours, theirs)
    for layer in range(num_layers):
        for ours, theirs in in_a_layer.items():
            names[f"stack.blocks.{layer}.{ours}"] = f"encoder.layer.{layer}.{theirs}"
    return names


def _linear(ours: str, theirs: str) -> dict[str, str]:
    """The two parameters of a Linear or a LayerNorm."""
    return {f"{ours}.{part}": f"{theirs}.{part}" for part in ("weight", "bias")}
