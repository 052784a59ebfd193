"""The three products of local attention, and why there are exactly three.

Aggregation is one sum of products of weights, values and outputs over batch b, group member m, query (h, w),
group g and footprint position k:

    sum  weights[k, b, h, w, g] * values[b, m, window_k(h, w), g] * outputs[b, m, h, w, g]

Leaving out one of the three factors gives a product: `aggregate` (outputs), `scatter` (values), `correlate`
(weights). Each is the gradient of the other two, so that all are differentiable as often as one likes, and each is
a loop over shifts that never stores the K^2 copies of the values that ``F.unfold`` writes.

Axes: what is contiguous for one shift stands last. A row of pixels times the groups is one run in memory for all
three operands, also on the 7 x 7 maps of deep layers; the weights of one shift are one block; and the channels that
share a weight (the axis m) are a plain broadcast. ``benchmarks/local_attention.py`` measures it.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headgrid.ops.footprint import Footprint, shifted, windows
from headgrid.ops.operator import register_gradient, register_operator
from headgrid.ops.tiles import tiles

GroupedMaps = Float[Tensor, "b m h_padded w_padded g"]
GroupedOutputs = Float[Tensor, "b m h w g"]
FootprintWeights = Float[Tensor, "k b h w g"]


def aggregate(weights: FootprintWeights, values: GroupedMaps, footprint: Footprint) -> GroupedOutputs:
    """Sums the values of each footprint, weighted: ``y_i = sum_j alpha_ij * beta_j``."""
    return _AGGREGATE(weights, values, *footprint.numbers)


def scatter(
    weights: FootprintWeights, outputs: GroupedOutputs, grid: tuple[int, int], footprint: Footprint
) -> GroupedMaps:
    """Sends each output, weighted, to the pixels of its footprint on a padded map of ``grid`` pixels."""
    return _SCATTER(weights, outputs, *grid, *footprint.numbers)


def correlate(values: GroupedMaps, outputs: GroupedOutputs, footprint: Footprint) -> FootprintWeights:
    """The dot product, over the members of a group, of each output with each value of its footprint."""
    return _CORRELATE(values, outputs, *footprint.numbers)


def _aggregate(weights: Tensor, values: Tensor, size: int, stride: int, dilation: int) -> Tensor:
    views = shifted(values, Footprint(size, stride, dilation))
    outputs = torch.zeros(views[0].shape, dtype=values.dtype, device=values.device)
    for images in tiles(len(outputs), outputs[:1].numel(), outputs.device):
        output = outputs[images]
        for weight, value in zip(weights, views, strict=True):
            output.addcmul_(weight[images, None], value[images])
    return outputs


def _scatter(
    weights: Tensor, outputs: Tensor, height: int, width: int, size: int, stride: int, dilation: int
) -> Tensor:
    values = outputs.new_zeros(*outputs.shape[:2], height, width, outputs.shape[-1])
    views = shifted(values, Footprint(size, stride, dilation))
    for images in tiles(len(outputs), outputs[:1].numel(), outputs.device):
        output = outputs[images]
        for weight, value in zip(weights, views, strict=True):
            value[images].addcmul_(weight[images, None], output)
    return values


def _correlate(values: Tensor, outputs: Tensor, size: int, stride: int, dilation: int) -> Tensor:
    _, num_members, *queries = outputs.shape
    weights = outputs.new_zeros(size, size, len(outputs), *queries)
    rows = windows(values, Footprint(size, stride, dilation))
    # One row of the footprint at once: few calls, and its weights stay in the cache while the members are added.
    for images in tiles(len(outputs), size * weights[0, 0, :1].numel(), outputs.device):
        for weight, row in zip(weights[:, :, images], rows[:, :, images], strict=True):
            for member in range(num_members):
                weight.addcmul_(outputs[images, member], row[:, :, member])
    return weights.flatten(0, 1)


def _aggregate_shapes(weights: Tensor, values: Tensor, size: int, stride: int, dilation: int) -> Tensor:
    covered = dilation * (size - 1)
    grid = ((length - covered - 1) // stride + 1 for length in values.shape[2:4])
    return values.new_empty(*values.shape[:2], *grid, values.shape[-1])


def _scatter_shapes(
    weights: Tensor, outputs: Tensor, height: int, width: int, size: int, stride: int, dilation: int
) -> Tensor:
    return outputs.new_empty(*outputs.shape[:2], height, width, outputs.shape[-1])


def _correlate_shapes(values: Tensor, outputs: Tensor, size: int, stride: int, dilation: int) -> Tensor:
    return outputs.new_empty(size**2, len(outputs), *outputs.shape[2:])


def _weighted_flops(weights: torch.Size, maps: torch.Size, *_: object, **__: object) -> int:
    return 2 * weights.numel() * maps[1]


def _correlate_flops(values: torch.Size, outputs: torch.Size, size: int, *_: object, **__: object) -> int:
    return 2 * size**2 * outputs.numel()


_AGGREGATE = register_operator(_aggregate, _aggregate_shapes, _weighted_flops)
_SCATTER = register_operator(_scatter, _scatter_shapes, _weighted_flops)
_CORRELATE = register_operator(_correlate, _correlate_shapes, _correlate_flops)


def _keep_factors(ctx: Any, inputs: tuple, output: Tensor) -> None:
    ctx.save_for_backward(*inputs[:2])
    ctx.footprint = Footprint(*inputs[-3:])


def _aggregate_backward(ctx: Any, outputs: Tensor) -> tuple[Tensor | None, ...]:
    weights, values = ctx.saved_tensors
    outputs, grid = outputs.contiguous(), (values.shape[2], values.shape[3])
    of_weights = correlate(values, outputs, ctx.footprint) if ctx.needs_input_grad[0] else None
    of_values = scatter(weights, outputs, grid, ctx.footprint) if ctx.needs_input_grad[1] else None
    return of_weights, of_values, None, None, None


def _scatter_backward(ctx: Any, values: Tensor) -> tuple[Tensor | None, ...]:
    weights, outputs = ctx.saved_tensors
    values = values.contiguous()
    of_weights = correlate(values, outputs, ctx.footprint) if ctx.needs_input_grad[0] else None
    of_outputs = aggregate(weights, values, ctx.footprint) if ctx.needs_input_grad[1] else None
    return of_weights, of_outputs, None, None, None, None, None


def _correlate_backward(ctx: Any, weights: Tensor) -> tuple[Tensor | None, ...]:
    values, outputs = ctx.saved_tensors
    weights, grid = weights.contiguous(), (values.shape[2], values.shape[3])
    of_values = scatter(weights, outputs, grid, ctx.footprint) if ctx.needs_input_grad[0] else None
    of_outputs = aggregate(weights, values, ctx.footprint) if ctx.needs_input_grad[1] else None
    return of_values, of_outputs, None, None, None


register_gradient(_AGGREGATE, _aggregate_backward, _keep_factors)
register_gradient(_SCATTER, _scatter_backward, _keep_factors)
register_gradient(_CORRELATE, _correlate_backward, _keep_factors)
