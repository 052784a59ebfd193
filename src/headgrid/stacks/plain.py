"""L blocks in a row, each with its own weights."""

from collections.abc import Iterable
from typing import Generic

from torch import nn

from headgrid.stacks.block_stack import BlockStack, KeptKey, Output, OwnKeys


class PlainStack(BlockStack[Output], Generic[Output]):
    """Applies its blocks one after the other, usually each with a key of its own."""

    def __init__(self, blocks: Iterable[nn.Module], key: KeptKey | OwnKeys | None = None) -> None:
        super().__init__(OwnKeys() if key is None else key)
        self.blocks = nn.ModuleList(blocks)

    @property
    def num_passes(self) -> int:
        """The number of blocks, which cannot be changed: each has its own weights."""
        return len(self.blocks)

    @num_passes.setter
    def num_passes(self, num_passes: int) -> None:
        raise ValueError(
            f"the {len(self.blocks)} blocks of this stack have their own weights, so their number cannot be set to "
            f"{num_passes}: only a hierarchical stack with shared weights takes any number of passes"
        )

    def applied(self) -> Iterable[nn.Module]:
        return self.blocks
