"""Whole official networks."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from headgrid.interop.foreign_weights import carry_over, named_tensors, shape_of, without_storage
from headgrid.interop.official_san.weights import (
    AttentionShape,
    agree,
    arranged,
    attention_name,
    attention_shape,
    without_ones,
)
from headgrid.models import SAN, SANConfig
from headgrid.stacks import SANBlockConfig

PAPER_FOOTPRINTS = (3, 7, 7, 7, 7)
"""The footprints of every published network."""

BLOCK = {"input_norm": "bn1", "attention_norm": "bn2", "widen": "conv"}
"""Our module -> the official one, in each block."""


def translate(state: Mapping[str, Tensor], config: Mapping[str, Any] | None = None) -> SAN:
    """Our model that computes what the official network computes: images in, logits out, in eval mode.

    ``config`` may list `kind` (pairwise or patchwise), `layers` (blocks of each stage), `kernels` (footprint of
    each stage) and `num_classes`. Everything is read off the weights, and what is listed has to agree. Only the
    footprints of pairwise attention do not show in the weights: they are the paper's where the config has none.
    """
    entries, config = named_tensors(state), {} if config is None else config
    blocks = _blocks_per_stage(entries)
    agree(config, "layers", blocks)
    shapes = [attention_shape(entries, f"layer{stage}.0.sam.", config) for stage in range(len(blocks))]
    stem_channels, num_channels, *_ = shape_of(entries, "conv_in.weight", "channels", "colours", "1", "1")
    num_classes, _ = shape_of(entries, "fc.weight", "classes", "channels")
    agree(config, "num_classes", num_classes)

    first = shapes[0]
    ours = SANConfig(
        attention=first.config,
        blocks_per_stage=blocks,
        channels=tuple(shape.dim for shape in shapes),
        footprints=_footprints(shapes, config),
        poolings=(2,) * len(blocks),
        stem_channels=stem_channels,
        block=SANBlockConfig(first.dim // first.relation_dim, first.dim // first.value_dim),
        num_channels=num_channels,
        num_classes=num_classes,
    )
    ordered = without_ones(entries)
    for stage, shape in enumerate(shapes):
        for block in range(blocks[stage]):
            ordered |= arranged(entries, f"layer{stage}.{block}.sam.", shape)
    model = without_storage(ours.build)
    return carry_over(model, ordered, {name: _official_name(name) for name in model.state_dict()})


def _blocks_per_stage(entries: Mapping[str, Tensor]) -> tuple[int, ...]:
    found = [re.match(r"layer(\d+)\.(\d+)\.", name) for name in entries]
    places = {(int(place[1]), int(place[2])) for place in found if place}
    stages = {stage for stage, _ in places}
    blocks = tuple(len({block for at, block in places if at == stage}) for stage in range(len(stages)))
    if not places or places != {(stage, block) for stage, count in enumerate(blocks) for block in range(count)}:
        raise ValueError(
            "the weights hold no complete stages layer0.0, layer0.1 and so on: "
            "give the complete state dict of an official SAN"
        )
    return blocks


def _footprints(shapes: Sequence[AttentionShape], config: Mapping[str, Any]) -> tuple[int, ...]:
    found = tuple(shape.footprint for shape in shapes if shape.footprint is not None)
    if found:
        agree(config, "kernels", found)
        return found
    footprints = tuple(config.get("kernels", PAPER_FOOTPRINTS))
    if len(footprints) != len(shapes):
        paper = ",".join(map(str, PAPER_FOOTPRINTS))
        raise ValueError(
            f"the network has {len(shapes)} stages and there are footprints for {len(footprints)}: "
            f"give one for each stage, as {paper} in the paper"
        )
    return footprints


def _official_name(ours: str) -> str:
    match ours.split("."):
        case ["stem", part]:
            return f"conv_in.{part}"
        case ["stem_norm", part]:
            return f"bn_in.{part}"
        case ["classifier", "linear", part]:
            return f"fc.{part}"
        case ["stages", stage, "transition", part]:
            return f"conv{stage}.{part}"
        case ["stages", stage, "norm", part]:
            return f"bn{stage}.{part}"
        case ["stages", stage, "stack", "blocks", block, "attention", *rest]:
            return attention_name(".".join(rest), f"layer{stage}.{block}.sam.")
        case ["stages", stage, "stack", "blocks", block, module, part]:
            return f"layer{stage}.{block}.{BLOCK[module]}.{part}"
    raise AssertionError(f"no name for {ours}")
