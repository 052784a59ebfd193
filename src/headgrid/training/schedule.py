"""How the learning rate changes: a factor between 0 and 1 for every step, and nothing but the step decides it.

The papers train with a cosine to zero after a linear warm-up; their code changes the rate once per epoch and so
spends the first epoch at rate zero. Here both move with every step.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Cosine:
    """Linear warm-up, then half a cosine from the full rate to zero."""

    warmup_fraction: float = 0.05
    """Share of all steps spent warming up (the paper: 5 %)."""
    warmup_steps: int | None = None
    """Number of warm-up steps; given, it takes the place of the fraction."""

    def __post_init__(self) -> None:
        if not 0 <= self.warmup_fraction < 1:
            raise ValueError(f"warmup_fraction must be at least 0 and below 1, but is {self.warmup_fraction}")
        if self.warmup_steps is not None and self.warmup_steps < 0:
            raise ValueError(f"warmup_steps must not be negative, but is {self.warmup_steps}")

    def num_warmup_steps(self, num_steps: int) -> int:
        if self.warmup_steps is None:
            return round(self.warmup_fraction * num_steps)
        if self.warmup_steps > num_steps:
            raise ValueError(
                f"a warm-up of {self.warmup_steps} steps does not fit into a training of {num_steps}: "
                "train for more epochs or lower warmup_steps"
            )
        return self.warmup_steps

    def rate_factor(self, step: int, num_steps: int, steps_per_epoch: int) -> float:
        """In a warm-up of W steps, step 0 has 1/W of the rate and step W - 1 all of it.

        Step `num_steps`, which is never made, would have the rate 0.
        """
        warmup = self.num_warmup_steps(num_steps)
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (num_steps - warmup)))


@dataclass(frozen=True)
class MultiStep:
    """The rate is multiplied by `factor` when each of the named epochs begins."""

    epochs: tuple[int, ...] = (80, 150, 250)
    """Numbers of finished epochs after which the rate falls."""
    factor: float = 0.1
    """What the rate is multiplied by."""

    def __post_init__(self) -> None:
        if list(self.epochs) != sorted(set(self.epochs)) or (self.epochs and self.epochs[0] < 0):
            raise ValueError(f"epochs must be increasing and not negative, but are {list(self.epochs)}")
        if not 0 < self.factor <= 1:
            raise ValueError(f"factor must be above 0 and at most 1, but is {self.factor}")

    def rate_factor(self, step: int, num_steps: int, steps_per_epoch: int) -> float:
        epoch = step // steps_per_epoch
        return self.factor ** sum(epoch >= milestone for milestone in self.epochs)


@dataclass(frozen=True)
class Constant:
    """The same rate throughout."""

    def rate_factor(self, step: int, num_steps: int, steps_per_epoch: int) -> float:
        return 1.0


Schedule = Cosine | MultiStep | Constant
