"""Structural pruning: a really smaller model, without some of the heads of a trained one.

What a head contributes is ``head_h W^(h)`` of equation 11; a model without it computes what the trained one would
with this term left out, and nothing else changes: the output bias stays as it was trained.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TypeVar

import torch
from torch import Tensor, nn

from headgrid.attention import (
    GatedPositionalAttentionConfig,
    HeadsOfWidth,
    MultiheadAttentionConfig,
    SplitHeads,
    TokenAttentionConfig,
)
from headgrid.models import FullyAttentionalConfig, ViTConfig
from headgrid.pruning.prunable_layers import PrunableModel, checked, prunable_layers
from headgrid.scores import GeneralizedQuadraticConfig, GridCenters, QuadraticConfig, RandomCenters
from headgrid.theory import DefaultInitialization

Config = TypeVar("Config")

Heads = Mapping[str, Collection[int]]
"""Numbers of heads, by the name of the `PrunableLayer` that they belong to."""


def remove_heads(model: nn.Module, removed: Heads) -> PrunableModel:
    """A smaller model without these heads; the given one stays as it is."""
    model = checked(model)
    layers = prunable_layers(model)
    _check(removed, {layer.name: layer.num_heads for layer in layers})
    kept = {
        layer.name: [head for head in range(layer.num_heads) if head not in removed.get(layer.name, ())]
        for layer in layers
    }
    heads = {number: len(kept[layer.name]) for layer in layers for number in layer.passes}
    config = smaller_config(model.config, tuple(heads[number] for number in sorted(heads)))
    with torch.random.fork_rng(devices=[]):  # the caller's random numbers are not ours to draw
        smaller = config.build()
    parameter = next(model.parameters())
    smaller.to(device=parameter.device, dtype=parameter.dtype)

    places = {module: name for name, module in model.named_modules()}
    owners = {f"{places[module]}.": layer for layer in layers for module in layer.modules}
    state = model.state_dict()
    for name, tensor in smaller.state_dict().items():
        layer = next((layer for place, layer in owners.items() if name.startswith(place)), None)
        if layer is not None:
            state[name] = _of_heads(state[name], tensor.shape, layer.num_heads, kept[layer.name])
    smaller.load_state_dict({name: state[name] for name in smaller.state_dict()})
    return smaller.train(model.training)


def smaller_config(
    config: FullyAttentionalConfig | ViTConfig, heads_per_layer: tuple[int, ...]
) -> FullyAttentionalConfig | ViTConfig:
    """The config of the model with so many heads in each layer; a head stays as wide as it was."""
    attention = config.attention
    if isinstance(attention.heads, SplitHeads):
        # Fewer heads must not become wider ones.
        width = attention.heads.head_dim(config.dim, attention.num_heads)
        attention = replace(attention, heads=HeadsOfWidth(width))
    heads = None if set(heads_per_layer) == {attention.num_heads} else heads_per_layer
    if isinstance(config, ViTConfig):
        assert isinstance(attention, TokenAttentionConfig)
        return replace(config, attention=attention, heads_per_layer=heads)
    assert not isinstance(attention, TokenAttentionConfig)
    return replace(
        config,
        attention=_with_random_centers(attention),
        heads_per_layer=heads,
        initialization=DefaultInitialization(),
    )


def _check(removed: Heads, num_heads: Mapping[str, int]) -> None:
    for name, heads in removed.items():
        if name not in num_heads:
            raise ValueError(
                f"the model has no layer {name!r} that could lose heads: it has {', '.join(num_heads)}"
            )
        for head in heads:
            if not 0 <= head < num_heads[name]:
                raise ValueError(f"layer {name} has no head {head}: it has {num_heads[name]}, counted from 0")


def _of_heads(parameter: Tensor, shape: torch.Size, num_heads: int, kept: list[int]) -> Tensor:
    """The part of a parameter that belongs to the kept heads.

    An axis that is shorter in the smaller model runs over the heads, and within each over its channels.
    """
    for axis, (longer, shorter) in enumerate(zip(parameter.shape, shape, strict=True)):
        if longer != shorter:
            heads = parameter.unflatten(axis, (num_heads, longer // num_heads))
            chosen = torch.tensor(kept, dtype=torch.int64, device=parameter.device)
            parameter = heads.index_select(axis, chosen).flatten(axis, axis + 1)
    assert parameter.shape == shape
    return parameter


def _with_random_centers(
    attention: MultiheadAttentionConfig | GatedPositionalAttentionConfig,
) -> MultiheadAttentionConfig | GatedPositionalAttentionConfig:
    """Centres on the grid of a kernel exist for square numbers of heads only; weights are loaded in any case."""
    if isinstance(attention, GatedPositionalAttentionConfig):
        return replace(attention, position=_random(attention.position))
    return replace(attention, scores=tuple(_random(score) for score in attention.scores))


def _random(score: Config) -> Config:
    on_grid = isinstance(score, QuadraticConfig | GeneralizedQuadraticConfig) and isinstance(
        score.initialization, GridCenters
    )
    return replace(score, initialization=RandomCenters()) if on_grid else score  # type: ignore[type-var]
