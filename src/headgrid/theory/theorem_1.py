"""Theorem 1: a multi-head self-attention layer with quadratic encodings can express any convolution.

Lemma 2 lets every head attend one shift, lemma 1 makes a convolution of such heads. `theorem_1` puts both together:
it returns our own `MultiheadAttention` whose output, wherever the kernel lies inside of the map, is that of the
convolution. Padding and stride are no part of the theorem; `convert_convolution` adds them.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headgrid.attention import (
    DropoutPerBatch,
    FullHeads,
    GroupedValues,
    HeadsOfWidth,
    MergedValues,
    MultiheadAttention,
    MultiheadAttentionConfig,
    ProjectedValues,
)
from headgrid.axes import Pixels
from headgrid.geometry import kernel_shifts
from headgrid.scores import QuadraticConfig
from headgrid.scores.position import QuadraticScore
from headgrid.theory.error_bound import ErrorBound, error_bound
from headgrid.theory.lemma_1 import HeadMatrices, lemma_1
from headgrid.theory.lemma_2 import exact_sharpness, lemma_2, mass_off_center


def theorem_1(
    convolution: nn.Conv1d | nn.Conv2d,
    num_heads: int | None = None,
    head_dim: int | None = None,
    encoding_size: int | None = None,
    sharpness: float | None = None,
) -> MultiheadAttention:
    """The attention layer that expresses a convolution; what is given is checked against the hypotheses.

    The theorem asks for ``num_heads`` N_h = K_h K_w, for ``head_dim`` D_h of at least as many channels as the
    convolution puts out, and for an ``encoding_size`` D_p of at least 3 (2 for sequences). Without ``head_dim``
    every head has its matrix W^(h) in one piece, as in equation 11; with it, value and output matrix of rank D_h.
    The ``sharpness`` defaults to `exact_sharpness` of the convolution's dtype.
    """
    kernel, dilation = planar_kernel(convolution), planar(convolution.dilation, 1)
    rows, columns = kernel.shape[2:]
    if num_heads is not None and num_heads != rows * columns:
        raise ValueError(
            f"Theorem 1 needs N_h = K_h * K_w heads: a {rows} x {columns} kernel takes {rows * columns}, "
            f"got {num_heads}"
        )
    shifts = kernel_shifts((rows, columns), dilation, kernel.device)
    num_axes = len(convolution.kernel_size)
    lemma_2(shifts[:, -num_axes:], 1.0, encoding_size)  # its hypotheses on D_p
    if head_dim is None:
        return express(convolution, None, sharpness)
    dense = dense_kernel(kernel, convolution.groups)
    return express(convolution, lemma_1(dense, shifts, head_dim, dilation), sharpness)


def express(
    convolution: nn.Conv1d | nn.Conv2d, matrices: HeadMatrices | None, sharpness: float | None = None
) -> MultiheadAttention:
    """One quadratic head per shift of the kernel, with the given matrices or with the kernel's own."""
    kernel = planar_kernel(convolution)
    sharpness = exact_sharpness(kernel.dtype) if sharpness is None else sharpness
    mass_off_center(sharpness)  # refuses what is not positive and finite
    shifts = kernel_shifts((kernel.shape[2], kernel.shape[3]), planar(convolution.dilation, 1), kernel.device)
    config = MultiheadAttentionConfig(
        num_heads=len(shifts),
        scores=(QuadraticConfig(),),
        heads=FullHeads() if matrices is None else HeadsOfWidth(matrices.value.shape[2]),
        values=_values(matrices, convolution.groups),
        dropout=DropoutPerBatch(0.0),
    )
    # Every parameter is set below: the caller's random numbers are not ours to draw.
    with torch.random.fork_rng(devices=[]):
        layer = config.build(convolution.in_channels, (1, 1), convolution.out_channels)
    layer = layer.to(kernel.device, kernel.dtype).train(convolution.training)
    score = layer.score.terms[0]
    assert isinstance(score, QuadraticScore)
    with torch.no_grad():
        score.centers.copy_(shifts)
        score.spreads.fill_((2 * sharpness) ** 0.5)
        if matrices is None:
            layer.mixing.weight.copy_(mixing_weight(kernel))
        else:
            assert layer.value is not None
            layer.value.weight.copy_(matrices.value.permute(0, 2, 1).flatten(0, 1))
            layer.mixing.weight.copy_(matrices.output.flatten(0, 1).T)
        if convolution.bias is None:
            layer.mixing.bias.zero_()
        else:
            layer.mixing.bias.copy_(convolution.bias)
    return layer.requires_grad_(convolution.weight.requires_grad)


def _values(matrices: HeadMatrices | None, groups: int) -> MergedValues | GroupedValues | ProjectedValues:
    if matrices is not None:
        return ProjectedValues()
    return MergedValues() if groups == 1 else GroupedValues(groups)


def mixing_weight(kernel: Float[Tensor, "c_out c rows columns"]) -> Float[Tensor, "c_out _"]:
    """The kernel as the weight of a `HeadMixing`, or grouped: head by head, the kernel's elements row by row."""
    return kernel.flatten(2).transpose(1, 2).flatten(1)


def planar_kernel(convolution: nn.Conv1d | nn.Conv2d) -> Float[Tensor, "c_out c rows columns"]:
    """The kernel on a grid; a sequence is a grid of one row."""
    weight = convolution.weight.detach()
    return weight[:, :, None] if weight.dim() == 3 else weight


def planar(numbers: tuple[int, ...], along_rows: int) -> tuple[int, int]:
    """A convolution's (rows, columns) option; sequences get the one that does nothing along rows."""
    rows, columns = (along_rows, *numbers) if len(numbers) == 1 else numbers
    return rows, columns


def dense_kernel(
    kernel: Float[Tensor, "c_out c_group rows columns"], groups: int
) -> Float[Tensor, "c_out c rows columns"]:
    """The kernel of a grouped convolution with the zeros between its groups."""
    blocks = kernel.unflatten(0, (groups, -1))
    placed = torch.einsum("goiyx,gf->gofiyx", blocks, torch.eye(groups).to(kernel))
    return placed.flatten(2, 3).flatten(0, 1)


@dataclass(frozen=True)
class Deviation:
    """How far attention and convolution are apart on a map, away from its borders."""

    largest: float
    """The largest absolute difference that was measured."""
    scale: float
    """The convolution's largest absolute output."""
    bound: float
    """What the theory allows for these pixels in exact arithmetic."""

    @property
    def relative(self) -> float:
        return self.largest / self.scale if self.scale else self.largest


def deviation_bound(convolution: nn.Conv1d | nn.Conv2d, sharpness: float) -> ErrorBound:
    """For every input: each head gives at most `mass_off_center` of its attention to other pixels."""
    matrices = planar_kernel(convolution).flatten(2).permute(2, 1, 0)
    missed = torch.full((len(matrices),), mass_off_center(sharpness, len(convolution.kernel_size)))
    return error_bound(missed, matrices)


@torch.no_grad()
def measured_deviation(layer: MultiheadAttention, convolution: nn.Conv1d | nn.Conv2d, pixels: Pixels) -> Deviation:
    """Compares the layer with the convolution at every pixel where the kernel lies inside of the map."""
    kernel, dilation = planar_kernel(convolution), planar(convolution.dilation, 1)
    reach = [step * (size - 1) for step, size in zip(dilation, kernel.shape[2:], strict=True)]
    first = [step * ((size - 1) // 2) for step, size in zip(dilation, kernel.shape[2:], strict=True)]
    num_rows, num_columns = (length - far for length, far in zip(pixels.shape[1:3], reach, strict=True))
    if num_rows < 1 or num_columns < 1:
        raise ValueError(
            f"the kernel with dilation {dilation} reaches over {reach[0] + 1} x {reach[1] + 1} pixels: a map of "
            f"{pixels.shape[1]} x {pixels.shape[2]} has no pixel away from its borders"
        )
    queries = (slice(first[0], first[0] + num_rows), slice(first[1], first[1] + num_columns))
    attended = layer(pixels, queries=queries).values
    convolved = nn.functional.conv2d(
        pixels.permute(0, 3, 1, 2), kernel, convolution.bias, dilation=dilation, groups=convolution.groups
    ).permute(0, 2, 3, 1)
    score = layer.score.terms[0]
    assert isinstance(score, QuadraticScore)
    return Deviation(
        largest=float((attended - convolved).abs().max()),
        scale=float(convolved.abs().max()),
        bound=deviation_bound(convolution, float(score.sharpness.min())).on(pixels),
    )
