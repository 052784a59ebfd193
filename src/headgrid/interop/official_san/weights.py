"""What the weights of an official attention layer tell, and how ours are arranged.

Its 1 x 1 convolutions are our linear layers. Besides, one order differs: in patchwise attention, the official code
counts footprint positions within a channel, and we count channels within a position.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any

import torch
from torch import Tensor

from headgrid.attention import PairwiseAttentionConfig, PatchwiseAttentionConfig
from headgrid.interop.foreign_weights import shape_of

NAMES = {
    "phi": "conv1",
    "psi": "conv2",
    "beta": "conv3",
    "coordinates.linear": "conv_p",
    "gamma.layers.0.norm": "conv_w.0",
    "gamma.layers.0.linear": "conv_w.2",
    "gamma.layers.1.norm": "conv_w.3",
    "gamma.layers.1.linear": "conv_w.5",
}
"""Our module -> the official one."""


@dataclass(frozen=True)
class AttentionShape:
    """An official attention layer, as far as its weights tell it."""

    dim: int
    relation_dim: int
    value_dim: int
    num_groups: int
    footprint: int | None
    """Side of the footprint; None for pairwise attention, whose weights do not depend on it."""

    @property
    def sharing(self) -> int:
        return self.value_dim // self.num_groups

    @property
    def config(self) -> PairwiseAttentionConfig | PatchwiseAttentionConfig:
        kind = PairwiseAttentionConfig() if self.footprint is None else PatchwiseAttentionConfig()
        return replace(kind, sharing=self.sharing)


def attention_shape(entries: Mapping[str, Tensor], prefix: str, config: Mapping[str, Any]) -> AttentionShape:
    """Reads the layer whose entries begin with ``prefix``; the config's `kind` has to be what they tell."""
    relation_dim, dim, *_ = shape_of(entries, f"{prefix}conv1.weight", "relation", "channels", "1", "1")
    value_dim, *_ = shape_of(entries, f"{prefix}conv3.weight", "values", "channels", "1", "1")
    outputs, hidden, *_ = shape_of(entries, f"{prefix}conv_w.5.weight", "weights", "hidden", "1", "1")
    pairwise = f"{prefix}conv_p.weight" in entries
    agree(config, "kind", "pairwise" if pairwise else "patchwise")
    if pairwise:
        num_groups, footprint = outputs, None
    else:
        num_groups, footprint = hidden, _footprint(entries, prefix, relation_dim, outputs, hidden)
    if value_dim % num_groups:
        raise ValueError(
            f"entry {prefix}conv_w.5.weight gives {num_groups} weights a position: expected a number that divides "
            f"the {value_dim} channels of {prefix}conv3.weight"
        )
    return AttentionShape(dim, relation_dim, value_dim, num_groups, footprint)


def _footprint(entries: Mapping[str, Tensor], prefix: str, relation_dim: int, outputs: int, hidden: int) -> int:
    """Side of the footprint of patchwise attention: gamma sees phi once and psi at every position."""
    (concatenated,) = shape_of(entries, f"{prefix}conv_w.0.weight", "channels")
    side = isqrt(max(0, concatenated // relation_dim - 1))
    if concatenated != relation_dim * (side**2 + 1) or outputs != hidden * side**2:
        raise ValueError(
            f"the entries {prefix}conv_w fit no footprint: {concatenated} channels go in and {outputs} come out, "
            f"for relations of {relation_dim} channels and {hidden} groups"
        )
    return side


def agree(config: Mapping[str, Any], name: str, found: Any) -> None:
    """What the config lists has to be what the weights tell."""
    listed = config.get(name, found)
    if isinstance(found, tuple) and isinstance(listed, list | tuple):
        listed = tuple(listed)
    if listed != found:
        raise ValueError(
            f"the config says {name} = {listed}, and by the weights it is {found}: "
            f"give the config that belongs to these weights"
        )


def arranged(entries: Mapping[str, Tensor], prefix: str, shape: AttentionShape) -> dict[str, Tensor]:
    """The entries of a layer of ``shape`` in our order, without the two axes of 1 x 1 convolutions."""
    layer = {name: value for name, value in entries.items() if name.startswith(prefix)}
    if shape.footprint is not None:
        order = _positions_first(shape.relation_dim, shape.footprint**2)
        phi_then_psi = torch.cat([torch.arange(shape.relation_dim), order + shape.relation_dim])
        gamma = f"{prefix}conv_w."
        for part in ("weight", "bias", "running_mean", "running_var"):
            _reorder(layer, f"{gamma}0.{part}", 0, phi_then_psi)
        _reorder(layer, f"{gamma}2.weight", 1, phi_then_psi)
        for part in ("weight", "bias"):
            _reorder(layer, f"{gamma}5.{part}", 0, _positions_first(shape.num_groups, shape.footprint**2))
    return without_ones(layer)


def without_ones(entries: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """1 x 1 convolutions as matrices."""
    return {
        name: value.flatten(1) if value.dim() == 4 and value.shape[2:] == (1, 1) else value
        for name, value in entries.items()
    }


def attention_name(ours: str, prefix: str) -> str:
    """The official name of one of our layer's parameters."""
    module, part = ours.rsplit(".", 1)
    return f"{prefix}{NAMES[module]}.{part}"


def _positions_first(channels: int, positions: int) -> Tensor:
    """Where (position, channel) stands among (channel, position)."""
    return torch.arange(channels * positions).view(channels, positions).T.flatten()


def _reorder(layer: dict[str, Tensor], name: str, axis: int, order: Tensor) -> None:
    """An entry that is missing or has another size is left alone: carrying over reports it."""
    if name in layer and layer[name].dim() > axis and layer[name].shape[axis] == len(order):
        layer[name] = layer[name].index_select(axis, order.to(layer[name].device))
