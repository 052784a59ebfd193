"""Degenerate heads that begin anew during training: the option that the original code has for the start of a run.

There the centres stay where they are; here a head gets a new centre and a new spread. What it did with the pixels
it looked at, its part of the output matrix, stays.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from headgrid.analysis.degenerate_heads import DegeneracyThresholds, degenerate_heads, gaussian_layers


@runtime_checkable
class Buildable(Protocol):
    """What a model's config can do."""

    def build(self) -> nn.Module: ...


@dataclass(frozen=True)
class HeadReset(DegeneracyThresholds):
    """Gives degenerate heads a new centre and a new spread, drawn as at the start of a training."""

    every: int = 1
    """Look for them before the first epoch, and again after every so many."""
    until: int | None = None
    """Number of finished epochs after which heads are left alone, as they need time to learn; 0 resets before the
    first epoch only. Without, before the last epoch they are reset as well."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.every < 1:
            raise ValueError(f"heads can be reset after every epoch or every few, but every is {self.every}")
        if self.until is not None and self.until < 0:
            raise ValueError(f"until is a number of finished epochs from 0 on, but is {self.until}")

    def check(self, model: nn.Module) -> None:
        """Whether the model has heads that can degenerate."""
        if not any(gaussian_layers(model)):
            raise ValueError(
                "only heads whose score is one (generalized) quadratic term and nothing else can degenerate, and "
                "this model has none: leave the reset of heads out"
            )

    def new_rows(self, model: nn.Module, epoch: int, seed: int) -> dict[str, dict[int, Tensor]]:
        """The centres and spreads of the heads that are degenerate after so many finished epochs.

        By name of the parameter, then by number of the head. The model itself stays as it is. What a head gets
        depends on the seed and on the head alone, not on which others are reset with it.
        """
        if epoch % self.every or (self.until is not None and epoch > self.until):
            return {}
        degenerate = [spread for spread in degenerate_heads(model, self) if spread.degeneracy is not None]
        if not degenerate:
            return {}
        fresh = dict(_fresh(model, seed).named_parameters())
        terms = {layer: term for layer, _, term in gaussian_layers(model)}
        names = {id(parameter): name for name, parameter in model.named_parameters()}
        rows: dict[str, dict[int, Tensor]] = {}
        for head in degenerate:
            term = terms[head.layer]
            for parameter in (term.centers, term.spreads):
                name = names[id(parameter)]
                rows.setdefault(name, {})[head.head] = fresh[name].detach()[head.head]
        return rows


def _fresh(model: nn.Module, seed: int) -> nn.Module:
    """The model as it would start a training with this seed."""
    config = getattr(model, "config", None)
    assert isinstance(config, Buildable)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return config.build()
