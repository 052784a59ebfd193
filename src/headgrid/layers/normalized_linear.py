"""Batch norm, ReLU and Linear as one layer: what gamma, the mapping of vector attention, is made of."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from headgrid.ops import normalized_linear, product_type, row_moments

PerChannel = Float[Tensor, "c"]


class NormalizedLinear(nn.Module):
    """``Linear(relu(norm(rows)))``, with a batch norm whose statistics are those of all rows of a batch.

    The layer is exact and lean (see `headgrid.ops.normalized_linear`); with ``record`` the three layers run one
    after the other as they are written.
    """

    def __init__(self, num_channels: int, output_channels: int, bias: bool) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(num_channels)
        self.linear = nn.Linear(num_channels, output_channels, bias=bias)

    def forward(self, rows: Float[Tensor, "*n c"], record: bool = False) -> Float[Tensor, "*n c_out"]:
        flat = rows.flatten(0, -2)
        if record:
            output = self.linear(F.relu(self.norm(flat)))
        else:
            mean, variance = self.moments(lambda: row_moments(flat), len(flat))
            dtype = product_type(self.linear.weight)
            output = normalized_linear(
                flat,
                mean,
                variance,
                self.norm.eps,
                self.norm.weight,
                self.norm.bias,
                self.linear.weight.to(dtype),
                None if self.linear.bias is None else self.linear.bias.to(dtype),
                moments_of_rows=self.norm.training,
            )
        return output.unflatten(0, rows.shape[:-1])

    def moments(self, measure: Callable[[], tuple[Tensor, Tensor]], num_rows: int) -> tuple[Tensor, Tensor]:
        """Mean and variance that the norm works with: in training those of the batch, which it also tracks."""
        norm = self.norm
        assert norm.running_mean is not None
        assert norm.running_var is not None
        assert norm.num_batches_tracked is not None
        if not norm.training:
            return norm.running_mean, norm.running_var
        if num_rows < 2:
            raise ValueError("a batch norm cannot be trained on a single value per channel: use a larger batch")
        mean, variance = measure()
        with torch.no_grad():
            norm.num_batches_tracked += 1
            share = 1 / float(norm.num_batches_tracked) if norm.momentum is None else norm.momentum
            norm.running_mean.lerp_(mean.detach().to(norm.running_mean), share)
            unbiased = variance.detach() * (num_rows / (num_rows - 1))
            norm.running_var.lerp_(unbiased.to(norm.running_var), share)
        return mean, variance

    def affine(self, mean: PerChannel, variance: PerChannel) -> tuple[PerChannel, PerChannel]:
        """The norm as ``slope * row + offset``, for a first layer that works on more than it writes down."""
        slope = self.norm.weight * torch.rsqrt(variance + self.norm.eps)
        return slope, self.norm.bias - mean * slope
