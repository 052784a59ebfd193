"""A running average of the weights (exponential moving average), to be evaluated and kept in their place."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class WeightAverage:
    """Exponential moving average of all weights and stored statistics."""

    decay: float = 0.999
    """How much of the average stays in every step."""

    def __post_init__(self) -> None:
        if not 0 < self.decay < 1:
            raise ValueError(f"decay must be above 0 and below 1, but is {self.decay}")

    def decay_at(self, step: int) -> float:
        """The first steps remember less, or the average would carry the initial weights for long."""
        return min(self.decay, (1 + step) / (10 + step))


class AveragedWeights:
    """The averaged twin of a model's state. Integers (counts of batches) are copied, not averaged."""

    def __init__(self, model: nn.Module, config: WeightAverage) -> None:
        self.config = config
        # A tensor that the model knows under several names is averaged once.
        unique = {tensor.data_ptr(): name for name, tensor in reversed(model.state_dict().items())}
        self.live: dict[str, Tensor] = {
            name: tensor for name, tensor in model.state_dict().items() if unique[tensor.data_ptr()] == name
        }
        self.state = {name: tensor.clone() for name, tensor in self.live.items()}
        self._floats = [name for name, tensor in self.live.items() if tensor.is_floating_point()]
        self._others = [name for name, tensor in self.live.items() if not tensor.is_floating_point()]

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights after the step with this number (from 0)."""
        torch._foreach_lerp_(  # pyright: ignore[reportPrivateImportUsage]
            [self.state[name] for name in self._floats],
            [self.live[name] for name in self._floats],
            1 - self.config.decay_at(step),
        )
        for name in self._others:
            self.state[name].copy_(self.live[name])

    @torch.no_grad()
    def _exchange(self) -> None:
        for name, tensor in self.live.items():
            kept = tensor.clone()
            tensor.copy_(self.state[name])
            self.state[name].copy_(kept)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """For a while the model carries the average; afterwards it has its own weights again, bit by bit."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    def load(self, state: dict[str, Tensor]) -> None:
        for name, tensor in self.state.items():
            tensor.copy_(state[name])
