"""The remark on D_h and D_out: what heads narrower than the output can express, and how well.

``W^(h) = W_val^(h) W_out^(h)`` has rank at most D_h. Each head's matrix is a term of its own in the squared error
of the kernel, so the best layer of a given head width truncates the singular value decomposition of every matrix
(Eckart and Young). With the discarded singular values s_hi, i > D_h:

- the kernel's squared error is ``sum_h sum_i s_hi^2``, exactly;
- so is, away from borders, the mean squared error of an output pixel (summed over channels) on white input:
  uncorrelated channels and pixels of mean 0 and variance 1;
- for every input whose pixels have norms of at most R, no output pixel's error has a norm above
  ``R sum_h s_h,D_h+1`` (the largest discarded singular value of each head).
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from headgrid.theory.convert_convolution import ConvertedConvolution, checked_convolution
from headgrid.theory.lemma_1 import HeadMatrices
from headgrid.theory.theorem_1 import dense_kernel, express, planar_kernel


@dataclass(frozen=True)
class LowRankConvolution:
    """The attention layer, called like the convolution, and the errors that its singular values predict."""

    module: ConvertedConvolution
    singular_values: Float[Tensor, "n rank"]
    """Of every head's matrix, largest first, in float64."""
    head_dim: int
    """D_h, so many of them are kept."""

    @property
    def discarded(self) -> Float[Tensor, "n rest"]:
        return self.singular_values[:, self.head_dim :]

    @property
    def kernel_error(self) -> float:
        """The Frobenius norm of the difference between both kernels."""
        return math.sqrt(self.white_noise_error)

    @property
    def relative_kernel_error(self) -> float:
        """The same, relative to the kernel's norm."""
        norm = float(torch.linalg.vector_norm(self.singular_values))
        return self.kernel_error / norm if norm else 0.0

    @property
    def white_noise_error(self) -> float:
        """The expected squared error of an output pixel on white input of variance one."""
        return float(self.discarded.square().sum())

    @property
    def largest_error_per_norm(self) -> float:
        """A bound for every input: the norm of an output pixel's error if no input pixel's norm exceeds one."""
        return float(self.discarded[:, :1].sum())


def low_rank_convolution(
    convolution: nn.Module, head_dim: int, sharpness: float | None = None
) -> LowRankConvolution:
    """The best approximation of a convolution by an attention layer whose heads have ``head_dim`` channels."""
    checked = checked_convolution(convolution)
    if head_dim < 1:
        raise ValueError(f"a head needs at least one channel, got head_dim = {head_dim}")
    kernel = dense_kernel(planar_kernel(checked), checked.groups)
    matrices = kernel.flatten(2).permute(2, 1, 0)
    layer = express(checked, factored(matrices, head_dim), sharpness)
    return LowRankConvolution(
        ConvertedConvolution(checked, layer), torch.linalg.svdvals(matrices.double()), head_dim
    )


def factored(matrices: Float[Tensor, "n c c_out"], head_dim: int) -> HeadMatrices:
    """The value and output matrices of width ``head_dim`` whose products are nearest to the given matrices.

    Both carry the root of the singular values, so that neither dwarfs the other in training.
    """
    left, values, right = torch.linalg.svd(matrices.double(), full_matrices=False)
    roots = values[:, :head_dim].sqrt()
    missing = max(0, head_dim - values.shape[1])
    value = F.pad(left[:, :, :head_dim] * roots[:, None, :], (0, missing))
    output = F.pad(roots[:, :, None] * right[:, :head_dim], (0, 0, 0, missing))
    return HeadMatrices(value.to(matrices.dtype), output.to(matrices.dtype))
