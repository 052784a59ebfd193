"""L blocks in a row, each with its own weights."""

from collections.abc import Iterable

from torch import nn

from headgrid.attention import AttentionOutput
from headgrid.axes import Pixels


class PlainStack(nn.Module):
    """Applies its blocks one after the other."""

    def __init__(self, blocks: Iterable[nn.Module]) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, pixels: Pixels, record: bool = False) -> tuple[Pixels, tuple[AttentionOutput, ...]]:
        """The last block's pixels, and what the attention of each block gave."""
        outputs = []
        for block in self.blocks:
            pixels, attended = block(pixels, record=record)
            outputs.append(attended)
        return pixels, tuple(outputs)
