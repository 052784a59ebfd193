"""Batch normalisation of maps whose channels stand last."""

from jaxtyping import Float
from torch import Tensor, nn

from headgrid.axes import Pixels


class PixelBatchNorm(nn.BatchNorm2d):
    """`torch.nn.BatchNorm2d` for ``b h w c``: the same numbers, and no copy, for torch has a kernel for it."""

    def forward(self, input: Pixels) -> Float[Tensor, "b h w c"]:
        return super().forward(input.movedim(-1, 1)).movedim(1, -1)
