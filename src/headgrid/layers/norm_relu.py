"""Batch normalisation and ReLU of maps whose channels stand last."""

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from headgrid.axes import Pixels


class NormReLU(nn.BatchNorm2d):
    """``relu(norm(pixels))`` for ``b h w c``: the norm is torch's, whose kernel for this layout copies nothing.

    The ReLU works in place on the norm's result, which nothing else needs; done outside, on the view with channels
    last, it would cost three copies in the backward pass.
    """

    def forward(self, input: Pixels) -> Float[Tensor, "b h w c"]:
        return F.relu(super().forward(input.movedim(-1, 1)), inplace=True).movedim(1, -1)
