"""The first layer of gamma on a sum of a query part and a key part, without writing the relation down.

Summation, subtraction and relative positions are sums ``delta_ij = q_i + k_j`` (a minus sign goes into the keys).
gamma begins with a batch norm, a ReLU and a linear layer. The norm is an affine map of each channel, so it goes
into q and k; its statistics over all pairs follow from sums over the footprint, which are two small matrix
products; and what is left, ``relu(q_i + k_j) W``, is computed shift by shift in the cache, forwards and again
backwards. The K^2 maps of the relation and of its norm never exist. All of it is exact.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headgrid.ops.footprint import Footprint, incidence, pad, shifted
from headgrid.ops.operator import register_gradient, register_operator
from headgrid.ops.precision import without_autocast
from headgrid.ops.tiles import tiles

PerChannel = Float[Tensor, "c"]


def pairwise_sum_moments(
    queries: Float[Tensor, "b h w c"], keys: Float[Tensor, "b y x c"], footprint: Footprint
) -> tuple[PerChannel, PerChannel]:
    """Mean and variance of ``q_i + k_j`` over all images, queries i and keys j of their footprints.

    The variance is a difference of large numbers where neighbouring pixels are alike, so it is taken in float64
    wherever the device has it.
    """
    exact = torch.float32 if queries.device.type == "mps" else torch.float64
    of_queries, of_keys = queries.to(exact), keys.to(exact)
    rows, columns = (incidence(length, footprint, keys.device).sum(0).to(exact) for length in keys.shape[1:3])
    num_pairs = queries[..., 0].numel() * footprint.num_positions

    key_sum = torch.einsum("y,x,byxc->c", rows.sum(0), columns.sum(0), of_keys)
    key_squares = torch.einsum("y,x,byxc->c", rows.sum(0), columns.sum(0), of_keys.square())
    footprint_sums = torch.einsum("hy,byxc,wx->bhwc", rows, of_keys, columns)

    query_mean, key_mean = of_queries.mean((0, 1, 2)), key_sum / num_pairs
    covariance = ((of_queries - query_mean) * footprint_sums).sum((0, 1, 2)) / num_pairs
    query_variance = of_queries.var((0, 1, 2), correction=0)
    variance = query_variance + key_squares / num_pairs - key_mean.square() + 2 * covariance
    return (query_mean + key_mean).to(queries.dtype), variance.clamp(min=0).to(queries.dtype)


def pairwise_sum_linear(
    queries: Float[Tensor, "b h w c"],
    keys: Float[Tensor, "b y x c"],
    weight: Float[Tensor, "c_out c"],
    footprint: Footprint,
) -> Float[Tensor, "k b h w c_out"]:
    """``relu(q_i + k_j) W^T`` for every query i and key j of its footprint.

    The result has the type of ``weight``: with bfloat16 weights the matrix products are bfloat16.
    """
    with without_autocast(queries):
        return _OPERATOR(queries.contiguous(), pad(keys, footprint), weight, *footprint.numbers)


def _pairwise_sum_linear(
    queries: Tensor, keys: Tensor, weight: Tensor, size: int, stride: int, dilation: int
) -> Tensor:
    output = weight.new_empty(size**2, *queries.shape[:3], len(weight))
    views = shifted(keys, Footprint(size, stride, dilation))
    for images in tiles(len(queries), queries[:1].numel(), queries.device):
        relation = torch.empty_like(queries[images])
        for key, result in zip(views, output, strict=True):
            torch.add(queries[images], key[images], out=relation).relu_()
            torch.mm(relation.flatten(0, 2).to(weight.dtype), weight.T, out=result[images].flatten(0, 2))
    return output


def _pairwise_sum_linear_backward(
    gradient: Tensor, queries: Tensor, keys: Tensor, weight: Tensor, size: int, stride: int, dilation: int
) -> tuple[Tensor, Tensor, Tensor]:
    of_queries, of_keys = torch.zeros_like(queries), torch.zeros_like(keys)
    of_weight = torch.zeros_like(weight, dtype=queries.dtype)
    footprint = Footprint(size, stride, dilation)
    views = shifted(keys, footprint)
    of_views = shifted(of_keys, footprint)
    for images in tiles(len(queries), queries[:1].numel(), queries.device):
        relation = torch.empty_like(queries[images])
        for key, of_key, of_result in zip(views, of_views, gradient, strict=True):
            torch.add(queries[images], key[images], out=relation).relu_()
            rows = of_result[images].flatten(0, 2)
            of_weight.add_(torch.mm(rows.T, relation.flatten(0, 2).to(rows.dtype)))
            of_relation = torch.mm(rows, weight).to(relation.dtype).view_as(relation)
            of_relation.mul_(relation.sign_())  # the derivative of the ReLU: its result is never negative
            of_queries[images].add_(of_relation)
            of_key[images].add_(of_relation)
    return of_queries, of_keys, of_weight.to(weight.dtype)


def _shapes(queries: Tensor, keys: Tensor, weight: Tensor, size: int, stride: int, dilation: int) -> Tensor:
    return weight.new_empty(size**2, *queries.shape[:3], len(weight))


def _backward_shapes(
    gradient: Tensor, queries: Tensor, keys: Tensor, weight: Tensor, size: int, stride: int, dilation: int
) -> tuple[Tensor, Tensor, Tensor]:
    return torch.empty_like(queries), torch.empty_like(keys), torch.empty_like(weight)


def _flops(queries: torch.Size, keys: torch.Size, weight: torch.Size, size: int, *_: object, **__: object) -> int:
    return 2 * size**2 * queries[:3].numel() * weight.numel()


def _backward_flops(gradient: torch.Size, queries: torch.Size, *_: object, **__: object) -> int:
    return 4 * gradient.numel() * queries[-1]


_OPERATOR = register_operator(_pairwise_sum_linear, _shapes, _flops)
_BACKWARD = register_operator(_pairwise_sum_linear_backward, _backward_shapes, _backward_flops)


def _keep_inputs(ctx: Any, inputs: tuple, output: Tensor) -> None:
    ctx.save_for_backward(*inputs[:3])
    ctx.numbers = inputs[3:]


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    with without_autocast(gradient):
        gradients = _BACKWARD(gradient.contiguous(), *ctx.saved_tensors, *ctx.numbers)
    return *gradients, None, None, None


register_gradient(_OPERATOR, _backward, _keep_inputs)
