"""What every stack is: blocks applied one after the other, and a choice of whose key they work on."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from jaxtyping import Float
from torch import Tensor, nn

Positions = Float[Tensor, "b *positions c"]
"""Pixels or tokens."""

Output = TypeVar("Output")


@dataclass(frozen=True)
class KeptKey:
    """The key of the first block serves all of them: it is projected once, and gradients flow through it."""

    def for_next(self, given: Tensor | None, used: Tensor | None) -> Tensor | None:
        """The key that the next block is given, after one that was ``given`` a key and ``used`` one."""
        return used if given is None else given


@dataclass(frozen=True)
class OwnKeys:
    """Every block projects its own key."""

    def for_next(self, given: Tensor | None, used: Tensor | None) -> None:
        return None


class BlockStack(nn.Module, ABC, Generic[Output]):
    """Applies blocks in order. ``Output`` is what their attention hands back.

    A block maps ``(pixels, key, record)`` to pixels and to what its attention gave, with the key that it used.
    """

    def __init__(self, key: KeptKey | OwnKeys) -> None:
        super().__init__()
        self.key = key

    @abstractmethod
    def applied(self) -> Iterable[nn.Module]:
        """The block of every application, in order."""

    def calls(self) -> Iterable[Callable[..., Any]]:
        """What is called for every application, in order: the blocks, unless a pass adds something of its own."""
        return self.applied()

    def forward(self, pixels: Positions, record: bool = False) -> tuple[Positions, tuple[Output, ...]]:
        """The last block's pixels, and what the attention of each application gave."""
        outputs, key = [], None
        for call in self.calls():
            pixels, attended = call(pixels, key, record)
            outputs.append(attended)
            key = self.key.for_next(key, attended.key)
        return pixels, tuple(outputs)
