"""L blocks in a row, each with its own weights."""

from collections.abc import Iterable
from typing import Generic, TypeVar

from torch import nn

from headgrid.axes import Pixels

Output = TypeVar("Output")


class PlainStack(nn.Module, Generic[Output]):
    """Applies its blocks one after the other. ``Output`` is what their attention hands back."""

    def __init__(self, blocks: Iterable[nn.Module]) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, pixels: Pixels, record: bool = False) -> tuple[Pixels, tuple[Output, ...]]:
        """The last block's pixels, and what the attention of each block gave."""
        outputs = []
        for block in self.blocks:
            pixels, attended = block(pixels, record=record)
            outputs.append(attended)
        return pixels, tuple(outputs)
