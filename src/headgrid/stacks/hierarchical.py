"""Hierarchical attention (the reproduction report): one block applied L times, the key of its first pass kept.

The idea has two ingredients, which the report never takes apart. Here each is a choice of its own:

- weights: one block serves all passes (projections, relative embeddings, feed-forward and norms alike), or each
  pass has its own;
- key: the projected key of the first pass serves all of them, and gradients flow through it; or each pass projects
  its own. Queries, values and the positional part of a score are always those of the pass.

Own weights and own keys are the plain stack. A score without a key (position alone) has nothing to keep: there
hierarchical attention is sharing weights, and both choices of key compute the same.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic

from torch import nn

from headgrid.stacks.block_stack import BlockStack, KeptKey, Output, OwnKeys
from headgrid.stacks.pass_statistics import OfAllPasses, OfEachPass
from headgrid.stacks.plain import PlainStack

MakeBlock = Callable[[int, bool], nn.Module]
"""Makes the block of a number, with or without a key projection of its own."""


@dataclass(frozen=True)
class SharedWeights:
    """One block serves all passes, whose number is free, also after training."""

    statistics: OfEachPass | OfAllPasses = field(default_factory=OfEachPass)
    """Whose running statistics the batch norms of the block have, if it has any."""


@dataclass(frozen=True)
class OwnWeights:
    """Every pass has a block of its own."""


@dataclass(frozen=True)
class Plain:
    """L blocks in a row, each with its own weights and keys."""

    def build(self, make_block: MakeBlock, num_passes: int, blocks_per_pass: int = 1) -> PlainStack:
        return PlainStack(make_block(number, True) for number in range(num_passes * blocks_per_pass))


@dataclass(frozen=True)
class Hierarchical:
    """Hierarchical attention: one block L times, the key of the first pass kept; either can be switched off."""

    weights: SharedWeights | OwnWeights = field(default_factory=SharedWeights)
    """Whether one block serves all passes."""
    key: KeptKey | OwnKeys = field(default_factory=KeptKey)
    """Whether the key of the first pass serves all of them."""

    def build(
        self, make_block: MakeBlock, num_passes: int, blocks_per_pass: int = 1
    ) -> "HierarchicalStack | PlainStack":
        """Blocks that always work on a kept key are made without a key projection."""
        own_keys = isinstance(self.key, OwnKeys)
        if isinstance(self.weights, OwnWeights):
            num_blocks = num_passes * blocks_per_pass
            return PlainStack(
                (make_block(number, own_keys or number == 0) for number in range(num_blocks)), self.key
            )
        shared = [make_block(number, own_keys or number == 0) for number in range(blocks_per_pass)]
        return HierarchicalStack(shared, num_passes, self.key, self.weights.statistics)


Stack = Plain | Hierarchical


class HierarchicalStack(BlockStack[Output], Generic[Output]):
    """Applies the ``shared`` blocks, usually one, ``num_passes`` times. That number may change at any time.

    Application i is called ``blocks.<i>``, like the block of a plain stack that it stands for, so that the two
    compare by name. Parameters exist once and are named after ``shared``.
    """

    def __init__(
        self,
        shared: Sequence[nn.Module],
        num_passes: int,
        key: KeptKey | OwnKeys,
        statistics: OfEachPass | OfAllPasses,
    ) -> None:
        super().__init__(key)
        self.shared = nn.ModuleList(shared)
        self.num_passes = num_passes
        self.statistics = nn.ModuleList(nn.ModuleList(statistics.build(block, num_passes)) for block in shared)

    @property
    def num_passes(self) -> int:
        """How often the shared blocks are applied."""
        return self._num_passes

    @num_passes.setter
    def num_passes(self, num_passes: int) -> None:
        if num_passes < 1:
            raise ValueError(f"a stack must be passed at least once, got num_passes = {num_passes}")
        self._num_passes = num_passes

    @property
    def blocks(self) -> nn.ModuleList:
        """The block of every application, in order: one block under many numbers."""
        return nn.ModuleList(self.applied())

    def applied(self) -> Iterable[nn.Module]:
        return [*self.shared] * self.num_passes

    def calls(self) -> Iterable[Callable[..., Any]]:
        """The blocks, with the statistics of each pass. Passes beyond those of training have those of the last."""
        return [
            partial(of_block[min(number, len(of_block)) - 1], block) if number and len(of_block) else block  # type: ignore[arg-type]
            for number in range(self.num_passes)
            for block, of_block in zip(self.shared, self.statistics, strict=True)  # type: ignore[arg-type]
        ]
