"""Dropout on attention weights: which images share a mask."""

from dataclasses import dataclass


def _check(probability: float) -> None:
    if not 0 <= probability < 1:
        raise ValueError(f"the probability of dropout must be at least 0 and below 1, got {probability}")


@dataclass(frozen=True)
class DropoutPerBatch:
    """One mask for the whole batch, as the original has it where the weights do not depend on the image."""

    probability: float = 0.1
    """Share of the attention weights that are set to zero in training."""

    def __post_init__(self) -> None:
        _check(self.probability)


@dataclass(frozen=True)
class DropoutPerImage:
    """A mask for each image."""

    probability: float = 0.1
    """Share of the attention weights that are set to zero in training."""

    def __post_init__(self) -> None:
        _check(self.probability)
