"""How heads are judged, and which of them go: by a threshold of what was measured, or the weakest of all."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torch import Tensor

from headgrid.pruning.prunable_layers import PrunableLayer, PrunableModel

Batches = Iterable[tuple[Tensor, Tensor]]
"""Normalised images with their labels."""


@dataclass(frozen=True)
class HeadJudgement:
    """What a criterion says of one head."""

    layer: str
    """Name of the layer that can lose it."""
    head: int
    """Number of the head in its layer."""
    value: float | None
    """What was measured, if it is one number."""
    reason: str | None
    """Why the head is removed; none for a head that stays."""

    @property
    def is_removed(self) -> bool:
        return self.reason is not None


class Criterion(ABC):
    """Says of every head whether it stays."""

    @abstractmethod
    def judge(
        self, model: PrunableModel, layers: Sequence[PrunableLayer], batches: Batches | None
    ) -> tuple[HeadJudgement, ...]:
        """One judgement for each head of the layers, in their order. Some criteria need no images."""


@dataclass(frozen=True)
class Measured:
    """One number for one head."""

    layer: str
    head: int
    value: float


@dataclass(frozen=True)
class RankedCriterion(Criterion):
    """Measures one number per head; heads go that are beyond the threshold, or as many of the weakest as asked for.

    Of heads that are equal, those of later layers go first, and in a layer those with higher numbers.
    """

    threshold: float
    """From which value on a head goes."""
    keep: int | None = None
    """In the place of the threshold: how many heads stay in the whole model."""
    fraction: float | None = None
    """In the place of the threshold: which share of all heads goes, rounded down."""

    def __post_init__(self) -> None:
        if self.keep is not None and self.fraction is not None:
            raise ValueError("keep and fraction both say how many heads stay: give one of them")
        if self.keep is not None and self.keep < 1:
            raise ValueError(f"at least one head must stay, but keep is {self.keep}")
        if self.fraction is not None and not 0 < self.fraction < 1:
            raise ValueError(f"fraction must be above 0 and below 1, but is {self.fraction}")

    @abstractmethod
    def measure(
        self, model: PrunableModel, layers: Sequence[PrunableLayer], batches: Batches
    ) -> tuple[Measured, ...]:
        """The numbers of all heads of the layers, in their order."""

    @abstractmethod
    def weakness(self, value: float) -> float:
        """Grows with what makes a head dispensable: the value, or minus the value."""

    @abstractmethod
    def in_words(self, value: float) -> str:
        """What the value of a removed head says."""

    def judge(
        self, model: PrunableModel, layers: Sequence[PrunableLayer], batches: Batches | None
    ) -> tuple[HeadJudgement, ...]:
        if batches is None:
            raise ValueError(f"heads are judged by {type(self).__name__.lower()} on images: none are given")
        heads = self.measure(model, layers, batches)
        removed = self._removed(heads)
        return tuple(
            HeadJudgement(
                head.layer, head.head, head.value, self.in_words(head.value) if index in removed else None
            )
            for index, head in enumerate(heads)
        )

    def _removed(self, heads: Sequence[Measured]) -> set[int]:
        """The numbers, in the list, of the heads that go."""
        if self.keep is not None:
            if self.keep > len(heads):
                raise ValueError(f"{self.keep} heads cannot stay: the model has {len(heads)}")
            number = len(heads) - self.keep
        elif self.fraction is not None:
            number = int(self.fraction * len(heads))
        else:
            limit = self.weakness(self.threshold)
            return {index for index, head in enumerate(heads) if self.weakness(head.value) >= limit}
        order = sorted(range(len(heads)), key=lambda index: (self.weakness(heads[index].value), index))
        return set(order[len(heads) - number :])
