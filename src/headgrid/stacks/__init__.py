"""Blocks of attention, and stacks of blocks."""

from headgrid.stacks.block_stack import BlockStack, KeptKey, OwnKeys
from headgrid.stacks.hierarchical import (
    Hierarchical,
    HierarchicalStack,
    OwnWeights,
    Plain,
    SharedWeights,
    Stack,
)
from headgrid.stacks.paper_block import PaperBlock, PaperBlockConfig
from headgrid.stacks.pass_statistics import OfAllPasses, OfEachPass, PassStatistics
from headgrid.stacks.plain import PlainStack
from headgrid.stacks.pre_norm_block import PreNormBlock, PreNormBlockConfig
from headgrid.stacks.report_block import ReportBlock, ReportBlockConfig
from headgrid.stacks.report_vit_block import ReportViTBlock, ReportViTBlockConfig
from headgrid.stacks.san_block import SANBlock, SANBlockConfig

__all__ = [
    "BlockStack",
    "Hierarchical",
    "HierarchicalStack",
    "KeptKey",
    "OfAllPasses",
    "OfEachPass",
    "OwnKeys",
    "OwnWeights",
    "PaperBlock",
    "PaperBlockConfig",
    "PassStatistics",
    "Plain",
    "PlainStack",
    "PreNormBlock",
    "PreNormBlockConfig",
    "ReportBlock",
    "ReportBlockConfig",
    "ReportViTBlock",
    "ReportViTBlockConfig",
    "SANBlock",
    "SANBlockConfig",
    "SharedWeights",
    "Stack",
]
