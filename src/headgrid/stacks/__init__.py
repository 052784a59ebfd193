"""Blocks of attention, and stacks of blocks."""

from headgrid.stacks.paper_block import PaperBlock, PaperBlockConfig
from headgrid.stacks.plain import PlainStack
from headgrid.stacks.report_block import ReportBlock, ReportBlockConfig
from headgrid.stacks.san_block import SANBlock, SANBlockConfig

__all__ = [
    "PaperBlock",
    "PaperBlockConfig",
    "PlainStack",
    "ReportBlock",
    "ReportBlockConfig",
    "SANBlock",
    "SANBlockConfig",
]
