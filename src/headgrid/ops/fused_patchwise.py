"""The first layer of gamma on the keys of a whole footprint, without writing the K^2 copies of them down.

The patchwise concatenation hands gamma ``[psi(x_j) for all j in R(i)]``: a channel for each footprint position and
channel of psi. gamma begins with a batch norm, a ReLU and a linear layer. The statistics of position k are those of
the map seen through a shifted window, so all of them follow from two small matrix products; and the linear layer is
a sum over positions, computed shift by shift in the cache, forwards and again backwards. All of it is exact.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headgrid.ops.footprint import Footprint, incidence, pad, shifted
from headgrid.ops.operator import register_gradient, register_operator
from headgrid.ops.precision import without_autocast
from headgrid.ops.tiles import tiles

PerPosition = Float[Tensor, "k c"]


def patch_moments(keys: Float[Tensor, "b y x c"], footprint: Footprint) -> tuple[PerPosition, PerPosition]:
    """Mean and variance, over images and queries, of the key at each footprint position.

    Taken in float64 wherever the device has it: the variance is a difference of large numbers.
    """
    exact = torch.float32 if keys.device.type == "mps" else torch.float64
    rows, columns = (incidence(length, footprint, keys.device).sum(1).to(exact) for length in keys.shape[1:3])
    num_queries = len(keys)
    for length in keys.shape[1:3]:
        num_queries *= footprint.query_grid(length, 1)[0]
    sums, squares = (
        torch.einsum("iy,yxc,jx->ijc", rows, of_keys.sum(0), columns).flatten(0, 1) / num_queries
        for of_keys in (keys.to(exact), keys.to(exact).square())
    )
    return sums.to(keys.dtype), (squares - sums.square()).clamp(min=0).to(keys.dtype)


def patch_linear(
    keys: Float[Tensor, "b y x c"],
    scale: PerPosition,
    shift: PerPosition,
    weight: Float[Tensor, "k c_out c"],
    footprint: Footprint,
) -> Float[Tensor, "b h w c_out"]:
    """``sum_k relu(scale_k * key_k + shift_k) W_k^T`` for every query; key_k stands at position k of its footprint.

    The matrix products have the type of ``weight``; their sum has that of ``keys``.
    """
    with without_autocast(keys):
        return _OPERATOR(pad(keys, footprint), scale, shift, weight, *footprint.numbers)


def _patch_linear(
    keys: Tensor, scale: Tensor, shift: Tensor, weight: Tensor, size: int, stride: int, dilation: int
) -> Tensor:
    views = shifted(keys, Footprint(size, stride, dilation))
    output = keys.new_zeros(*views[0].shape[:3], weight.shape[1])
    for images in tiles(len(keys), views[0][:1].numel(), keys.device):
        rows = output[images].flatten(0, 2)
        for position, key in enumerate(views):
            relation = torch.addcmul(shift[position], key[images], scale[position]).relu_()
            _add_product(rows, relation.flatten(0, 2), weight[position].T)
    return output


def _patch_linear_backward(
    gradient: Tensor,
    keys: Tensor,
    scale: Tensor,
    shift: Tensor,
    weight: Tensor,
    size: int,
    stride: int,
    dilation: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    of_keys, of_scale, of_shift = torch.zeros_like(keys), torch.zeros_like(scale), torch.zeros_like(shift)
    of_weight = torch.zeros_like(weight, dtype=keys.dtype)
    footprint = Footprint(size, stride, dilation)
    views = shifted(keys, footprint)
    of_views = shifted(of_keys, footprint)
    for images in tiles(len(keys), views[0][:1].numel(), keys.device):
        rows = gradient[images].flatten(0, 2).to(weight.dtype)
        for position, key in enumerate(views):
            relation = torch.addcmul(shift[position], key[images], scale[position]).relu_()
            _add_product(of_weight[position], rows.T, relation.flatten(0, 2))
            of_relation = torch.mm(rows, weight[position]).to(keys.dtype).view_as(relation)
            of_relation.mul_(relation.sign_())  # the derivative of the ReLU: its result is never negative
            of_shift[position] += of_relation.sum((0, 1, 2))
            of_views[position][images].addcmul_(of_relation, scale[position])
            of_scale[position] += of_relation.mul_(key[images]).sum((0, 1, 2))
    return of_keys, of_scale, of_shift, of_weight.to(weight.dtype)


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """``total += left @ right``, the product in the narrower of the two types."""
    if total.dtype == left.dtype == right.dtype:
        total.addmm_(left, right)
        return
    narrow = left.dtype if left.dtype.itemsize < right.dtype.itemsize else right.dtype
    total.add_(torch.mm(left.to(narrow), right.to(narrow)))


def _shapes(
    keys: Tensor, scale: Tensor, shift: Tensor, weight: Tensor, size: int, stride: int, dilation: int
) -> Tensor:
    covered = dilation * (size - 1)
    grid = ((length - covered - 1) // stride + 1 for length in keys.shape[1:3])
    return keys.new_empty(len(keys), *grid, weight.shape[1])


def _backward_shapes(
    gradient: Tensor,
    keys: Tensor,
    scale: Tensor,
    shift: Tensor,
    weight: Tensor,
    size: int,
    stride: int,
    dilation: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return torch.empty_like(keys), torch.empty_like(scale), torch.empty_like(shift), torch.empty_like(weight)


def _flops(keys: torch.Size, scale: torch.Size, *_: object, **extra: torch.Size) -> int:
    return 2 * extra["out_shape"].numel() * scale.numel()


def _backward_flops(gradient: torch.Size, keys: torch.Size, scale: torch.Size, *_: object, **__: object) -> int:
    return 4 * gradient.numel() * scale.numel()


_OPERATOR = register_operator(_patch_linear, _shapes, _flops)
_BACKWARD = register_operator(_patch_linear_backward, _backward_shapes, _backward_flops)


def _keep_inputs(ctx: Any, inputs: tuple, output: Tensor) -> None:
    ctx.save_for_backward(*inputs[:4])
    ctx.numbers = inputs[4:]


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    with without_autocast(gradient):
        gradients = _BACKWARD(gradient.contiguous(), *ctx.saved_tensors, *ctx.numbers)
    return *gradients, None, None, None


register_gradient(_OPERATOR, _backward, _keep_inputs)
