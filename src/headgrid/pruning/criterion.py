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


@dataclass(frozen=True, kw_only=True)
class Criterion(ABC):
    """Says of every head whether it stays: by its threshold, or because it is not among the weakest of the model.

    Of heads that are equal, those of later layers go first, and in a layer those with higher numbers.
    """

    remove: int | None = None
    """In the place of a threshold: how many heads of the whole model go, the weakest first."""
    keep: int | None = None
    """In the place of a threshold: how many heads of the whole model stay."""
    fraction: float | None = None
    """In the place of a threshold: which share of all heads goes, rounded down."""

    def __post_init__(self) -> None:
        given = [name for name in ("remove", "keep", "fraction") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} each say how many heads go: give one of them")
        if self.remove is not None and self.remove < 1:
            raise ValueError(f"at least one head must go, but remove is {self.remove}")
        if self.keep is not None and self.keep < 1:
            raise ValueError(f"at least one head must stay, but keep is {self.keep}")
        if self.fraction is not None and not 0 < self.fraction < 1:
            raise ValueError(f"fraction must be above 0 and below 1, but is {self.fraction}")

    @abstractmethod
    def judge(
        self, model: PrunableModel, layers: Sequence[PrunableLayer], batches: Batches | None
    ) -> tuple[HeadJudgement, ...]:
        """One judgement for each head of the layers, in their order. Some criteria need no images."""

    @abstractmethod
    def why_none_goes(self, judgements: Sequence[HeadJudgement]) -> str:
        """What to say where no head is beyond the threshold: how near the nearest is."""

    def weakest(self, weaknesses: Sequence[float]) -> set[int] | None:
        """The places of those that go, if it is said how many; nothing where the threshold decides."""
        num_heads = len(weaknesses)
        if self.remove is not None:
            if self.remove >= num_heads:
                raise ValueError(
                    f"{self.remove} heads cannot go: the model has {num_heads}, and one at least must stay"
                )
            number = self.remove
        elif self.keep is not None:
            if self.keep > num_heads:
                raise ValueError(f"{self.keep} heads cannot stay: the model has {num_heads}")
            number = num_heads - self.keep
        elif self.fraction is not None:
            number = int(self.fraction * num_heads)
        else:
            return None
        order = sorted(range(num_heads), key=lambda index: (weaknesses[index], index))
        return set(order[num_heads - number :])


@dataclass(frozen=True)
class Measured:
    """One number for one head."""

    layer: str
    head: int
    value: float


@dataclass(frozen=True)
class RankedCriterion(Criterion):
    """Measures one number per head."""

    threshold: float
    """From which value on a head goes."""

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
        weaknesses = [self.weakness(head.value) for head in heads]
        removed = self.weakest(weaknesses)
        if removed is None:
            limit = self.weakness(self.threshold)
            removed = {index for index, weakness in enumerate(weaknesses) if weakness >= limit}
        return tuple(
            HeadJudgement(
                head.layer, head.head, head.value, self.in_words(head.value) if index in removed else None
            )
            for index, head in enumerate(heads)
        )

    def why_none_goes(self, judgements: Sequence[HeadJudgement]) -> str:
        values = [each.value for each in judgements if each.value is not None]
        return f"the nearest to the threshold {self.threshold:g} has {max(values, key=self.weakness):.3g}"
