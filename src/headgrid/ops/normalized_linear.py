"""Batch norm, ReLU and linear layer on very many rows, without keeping what lies between.

gamma applies such triples to K^2 rows per pixel. Here the rows go through the cache in tiles, only the input is
kept for the backward pass, and what lies between is computed again there: several times faster than the three
layers, whose intermediate results are written to memory and read back, and a third of their memory.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headgrid.ops.operator import register_gradient, register_operator
from headgrid.ops.precision import without_autocast
from headgrid.ops.tiles import tiles

Rows = Float[Tensor, "r c"]
PerChannel = Float[Tensor, "c"]


@torch.no_grad()
def row_moments(rows: Rows) -> tuple[PerChannel, PerChannel]:
    """Mean and variance of each channel, from the means and variances of tiles (Chan et al. 1979)."""
    return _MOMENTS(rows)


def normalized_linear(
    rows: Rows,
    mean: PerChannel,
    variance: PerChannel,
    epsilon: float,
    scale: PerChannel,
    shift: PerChannel,
    weight: Float[Tensor, "c_out c"],
    bias: Float[Tensor, "c_out"] | None,
    moments_of_rows: bool,
) -> Float[Tensor, "r c_out"]:
    """``relu(scale * (rows - mean) / sqrt(variance + epsilon) + shift) W^T + bias``.

    With ``moments_of_rows`` mean and variance are those of the rows themselves, and the gradient knows it, as in
    the training of a batch norm; without, they are constants. Rows and result may be bfloat16 if ``weight`` is.
    """
    deviation = torch.rsqrt(variance + epsilon)
    if bias is None:
        bias = weight.new_zeros(len(weight))
    with without_autocast(rows):
        return _OPERATOR(rows, mean, deviation, scale, shift, weight, bias, moments_of_rows)


def _row_moments(rows: Tensor) -> tuple[Tensor, Tensor]:
    exact = torch.promote_types(rows.dtype, torch.float32)
    mean = torch.zeros(rows.shape[1], dtype=exact, device=rows.device)
    squares, num_rows = torch.zeros_like(mean), 0
    for some in tiles(len(rows), rows.shape[1], rows.device):
        tile = rows[some].to(exact)
        tile_mean = tile.mean(0)
        difference, share = tile_mean - mean, len(tile) / (num_rows + len(tile))
        squares += (tile - tile_mean).square_().sum(0) + difference.square() * (num_rows * share)
        mean += difference * share
        num_rows += len(tile)
    return mean, squares / num_rows


def _normalized_linear(
    rows: Tensor,
    mean: Tensor,
    deviation: Tensor,
    scale: Tensor,
    shift: Tensor,
    weight: Tensor,
    bias: Tensor,
    moments_of_rows: bool,
) -> Tensor:
    output = weight.new_empty(len(rows), len(weight))
    slope = scale * deviation
    for some in tiles(len(rows), rows.shape[1], rows.device):
        hidden = torch.addcmul(shift - mean * slope, rows[some].to(slope.dtype), slope).relu_()
        torch.addmm(bias, hidden.to(weight.dtype), weight.T, out=output[some])
    return output


def _normalized_linear_backward(
    gradient: Tensor,
    rows: Tensor,
    mean: Tensor,
    deviation: Tensor,
    scale: Tensor,
    shift: Tensor,
    weight: Tensor,
    moments_of_rows: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    of_rows = torch.empty_like(rows, dtype=scale.dtype)
    of_scale, of_shift = torch.zeros_like(scale), torch.zeros_like(shift)
    of_weight, of_bias = (
        torch.zeros_like(weight, dtype=scale.dtype),
        weight.new_zeros(len(weight), dtype=scale.dtype),
    )
    for some in tiles(len(rows), rows.shape[1], rows.device):
        normalized = rows[some].to(scale.dtype).sub(mean).mul_(deviation)
        hidden = torch.addcmul(shift, normalized, scale).relu_()
        of_weight.add_(torch.mm(gradient[some].T, hidden.to(gradient.dtype)))
        of_bias.add_(gradient[some].to(scale.dtype).sum(0))
        of_hidden = of_rows[some].copy_(torch.mm(gradient[some], weight))
        of_hidden.mul_(hidden.sign_())  # the derivative of the ReLU: its result is never negative
        of_shift.add_(of_hidden.sum(0))
        of_scale.add_(normalized.mul_(of_hidden).sum(0))
    # From the gradient of the norm's result to that of the rows, which also moved their own mean and variance.
    slope, num_rows = scale * deviation, len(rows)
    for some in tiles(len(rows), rows.shape[1], rows.device):
        tile = of_rows[some]
        if moments_of_rows:
            normalized = rows[some].to(scale.dtype).sub(mean).mul_(deviation)
            tile.sub_(of_shift / num_rows).addcmul_(normalized, of_scale / -num_rows)
        tile.mul_(slope)
    return of_rows.to(rows.dtype), of_scale, of_shift, of_weight.to(weight.dtype), of_bias.to(weight.dtype)


def _moments_shapes(rows: Tensor) -> tuple[Tensor, Tensor]:
    exact = torch.promote_types(rows.dtype, torch.float32)
    return rows.new_empty(rows.shape[1], dtype=exact), rows.new_empty(rows.shape[1], dtype=exact)


def _shapes(
    rows: Tensor,
    mean: Tensor,
    deviation: Tensor,
    scale: Tensor,
    shift: Tensor,
    weight: Tensor,
    bias: Tensor,
    moments_of_rows: bool,
) -> Tensor:
    return weight.new_empty(len(rows), len(weight))


def _backward_shapes(
    gradient: Tensor,
    rows: Tensor,
    mean: Tensor,
    deviation: Tensor,
    scale: Tensor,
    shift: Tensor,
    weight: Tensor,
    moments_of_rows: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    of_norm = torch.empty_like(scale), torch.empty_like(shift)
    return torch.empty_like(rows), *of_norm, torch.empty_like(weight), weight.new_empty(len(weight))


def _flops(rows: torch.Size, *_: object, **extra: torch.Size) -> int:
    return 2 * rows.numel() * extra["out_shape"][1]


def _backward_flops(gradient: torch.Size, rows: torch.Size, *_: object, **__: object) -> int:
    return 4 * rows.numel() * gradient[1]


_MOMENTS = register_operator(_row_moments, _moments_shapes)
_OPERATOR = register_operator(_normalized_linear, _shapes, _flops)
_BACKWARD = register_operator(_normalized_linear_backward, _backward_shapes, _backward_flops)


def _keep_inputs(ctx: Any, inputs: tuple, output: Tensor) -> None:
    rows, mean, deviation, scale, shift, weight, _, ctx.moments_of_rows = inputs
    ctx.save_for_backward(rows, mean, deviation, scale, shift, weight)


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    with without_autocast(gradient):
        of_rows, of_scale, of_shift, of_weight, of_bias = _BACKWARD(
            gradient.contiguous(), *ctx.saved_tensors, ctx.moments_of_rows
        )
    return of_rows, None, None, of_scale, of_shift, of_weight, of_bias, None


register_gradient(_OPERATOR, _backward, _keep_inputs)
