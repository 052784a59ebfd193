"""Optimizers, and which parameters their weight decay spares.

The paper decays every weight, norms and biases included, except the centers and spreads of quadratic attention:
pulling these towards zero would move every head to its query pixel and flatten it.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn


def _check(learning_rate: float, weight_decay: float) -> None:
    if not 0 < learning_rate < math.inf:
        raise ValueError(f"learning_rate must be above 0, and finite, but is {learning_rate}")
    if not 0 <= weight_decay < math.inf:
        raise ValueError(f"weight_decay must be a number from 0 on, but is {weight_decay}")


@dataclass(frozen=True)
class SGD:
    """Stochastic gradient descent with momentum."""

    learning_rate: float = 0.1
    """Rate at the top of the schedule."""
    momentum: float = 0.9
    """How much of the previous update is kept."""
    weight_decay: float = 1e-4
    """Strength of the pull of weights towards zero, as part of the gradient."""
    nesterov: bool = False
    """Look ahead along the momentum."""
    without_decay: tuple[str, ...] = ()
    """Parts of parameter names that are spared by weight decay, such as `centers` or `head.bias`."""

    def __post_init__(self) -> None:
        _check(self.learning_rate, self.weight_decay)
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum must be at least 0 and below 1, but is {self.momentum}")
        if self.nesterov and self.momentum == 0:
            raise ValueError("nesterov needs a momentum above 0")

    def build(self, model: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.SGD(
            decay_groups(model, self.weight_decay, self.without_decay),
            lr=self.learning_rate,
            momentum=self.momentum,
            nesterov=self.nesterov,
        )


@dataclass(frozen=True)
class AdamW:
    """Adam with decoupled weight decay."""

    learning_rate: float = 1e-3
    """Rate at the top of the schedule."""
    betas: tuple[float, float] = (0.9, 0.999)
    """How slowly the means of the gradient and of its square forget."""
    epsilon: float = 1e-8
    """Added to the root of the mean square."""
    weight_decay: float = 0.05
    """Strength of the pull of weights towards zero, times the learning rate."""
    without_decay: tuple[str, ...] = ()
    """Parts of parameter names that are spared by weight decay, such as `centers` or `head.bias`."""

    def __post_init__(self) -> None:
        _check(self.learning_rate, self.weight_decay)
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas must be at least 0 and below 1, but are {list(self.betas)}")
        if not self.epsilon > 0:
            raise ValueError(f"epsilon must be above 0, but is {self.epsilon}")

    def build(self, model: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.AdamW(
            decay_groups(model, self.weight_decay, self.without_decay),
            lr=self.learning_rate,
            betas=self.betas,
            eps=self.epsilon,
        )


Optimizer = SGD | AdamW


def trainable(model: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters to train, each once, by name."""
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def decay_groups(model: nn.Module, weight_decay: float, without_decay: tuple[str, ...]) -> list[dict]:
    """Two groups of parameters, with and without weight decay.

    A part matches whole words of a dotted name: `head.bias` is a part of `layers.0.head.bias`, `bias` as well, but
    `ias` is not. A part that matches nothing is a mistake and refused.
    """
    parameters = trainable(model)
    if not parameters:
        raise ValueError("the model has no parameter to train")
    for part in without_decay:
        if not spares(part, parameters):
            words = sorted({word for name in parameters for word in name.split(".") if not word.isdigit()})
            raise ValueError(
                f"without_decay names {part!r}, but no parameter to train has this in its name: "
                f"names are made of {', '.join(words)}"
            )
    spared = {name for name in parameters if any(_has_part(name, part) for part in without_decay)}
    groups = [
        {"params": [p for name, p in parameters.items() if name not in spared], "weight_decay": weight_decay},
        {"params": [p for name, p in parameters.items() if name in spared], "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]


def spares(part: str, names: Iterable[str]) -> bool:
    """Whether a part of a name, spared by weight decay, is found in any of these names."""
    return any(_has_part(name, part) for name in names)


def _has_part(name: str, part: str) -> bool:
    return f".{part}." in f".{name}."
