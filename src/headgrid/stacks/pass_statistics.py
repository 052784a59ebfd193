"""Running statistics of the batch norms in a block that is applied again and again."""

from dataclasses import dataclass
from typing import Any

from torch import nn
from torch.func import functional_call
from torch.nn.modules.batchnorm import _BatchNorm


@dataclass(frozen=True)
class OfEachPass:
    """Every pass has running statistics of its own, as it has activations of its own; scale and shift are shared.

    In training a norm uses the statistics of the batch, which differ from pass to pass. A single running mean of
    them all fits none of the passes, and in eval mode the network computes something that was never trained.
    """

    def build(self, block: nn.Module, num_passes: int) -> "list[PassStatistics]":
        return [PassStatistics(block) for _ in range(num_passes - 1)] if _batch_norms(block) else []


@dataclass(frozen=True)
class OfAllPasses:
    """One running mean of all passes, as in the report's code, which evaluates in training mode."""

    def build(self, block: nn.Module, num_passes: int) -> "list[PassStatistics]":
        return []


class PassStatistics(nn.Module):
    """The statistics of one later pass. The first pass has those of the block itself."""

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        for norm_name, norm in _batch_norms(block).items():
            for name, statistic in norm.named_buffers():
                self.register_buffer(_joined(f"{norm_name}.{name}"), statistic.clone())

    def forward(self, block: nn.Module, *arguments: Any) -> Any:
        """The block on its arguments, with these statistics in its norms; in training it is these that move."""
        names = [f"{norm_name}.{name}" for norm_name, norm in _batch_norms(block).items() for name in norm._buffers]
        statistics = {name: self.get_buffer(_joined(name)) for name in names}
        return functional_call(block, statistics, arguments)


def _batch_norms(block: nn.Module) -> dict[str, _BatchNorm]:
    return {name: module for name, module in block.named_modules() if isinstance(module, _BatchNorm)}


def _joined(name: str) -> str:
    """Buffers have no dots in their names."""
    return name.replace(".", "__")
