"""The first layer of gamma without its relation, against the relation written out."""

import pytest
import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

from footprint_loops import random_footprint
from headgrid.ops import (
    Footprint,
    dot_product,
    local_dot_product,
    neighbours,
    pairwise_sum_linear,
    pairwise_sum_moments,
    patch_linear,
    patch_moments,
)

SEEDS = range(25)

CHECKS = ("test_schema", "test_autograd_registration", "test_faketensor")
"""Of `torch.library.opcheck`; that the compiler takes the operators, the slow tests of whole models show."""


def _random(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def _same(fast, slow, operands):
    """Values and gradients agree."""
    torch.testing.assert_close(fast, slow)
    seen = [torch.randn_like(part) for part in slow]
    gradients = [
        torch.autograd.grad(sum((part * by).sum() for part, by in zip(parts, seen, strict=True)), operands)
        for parts in (fast, slow)
    ]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("seed", SEEDS)
def test_sum_of_query_and_key(seed):
    torch.manual_seed(seed)
    footprint, grid = random_footprint(seed)
    queries, keys, weight = _random(2, *footprint.query_grid(*grid), 5), _random(2, *grid, 5), _random(4, 5)
    fast = pairwise_sum_linear(queries, keys, weight, footprint)
    slow = F.relu(queries + neighbours(keys, footprint)) @ weight.T
    _same([fast], [slow], (queries, keys, weight))


@pytest.mark.parametrize("seed", SEEDS)
def test_moments_of_the_sum(seed):
    torch.manual_seed(seed)
    footprint, grid = random_footprint(seed)
    queries, keys = _random(2, *footprint.query_grid(*grid), 5), _random(2, *grid, 5)
    variance, mean = torch.var_mean(queries + neighbours(keys, footprint), dim=(0, 1, 2, 3), correction=0)
    _same(pairwise_sum_moments(queries, keys, footprint), [mean, variance], (queries, keys))


def test_moments_of_differences_between_almost_equal_neighbours():
    """As of coordinates on a large map, in float32."""
    ramp = torch.linspace(-1, 1, 224).expand(1, 3, 224)[..., None] + 100
    difference = ramp.double() - neighbours(ramp.double(), Footprint(3))
    _, variance = pairwise_sum_moments(ramp, -ramp, Footprint(3))
    torch.testing.assert_close(variance.item(), difference.var(correction=0).item(), rtol=1e-5, atol=0)


@pytest.mark.parametrize("seed", SEEDS)
def test_keys_of_a_patch(seed):
    torch.manual_seed(seed)
    footprint, grid = random_footprint(seed)
    num_positions = footprint.num_positions
    keys, scale, shift = _random(2, *grid, 3), _random(num_positions, 3), _random(num_positions, 3)
    weight = _random(num_positions, 4, 3)
    fast = patch_linear(keys, scale, shift, weight, footprint)
    relation = F.relu(neighbours(keys, footprint) * scale[:, None, None, None] + shift[:, None, None, None])
    slow = torch.einsum("kbhwc,koc->bhwo", relation, weight)
    _same([fast], [slow], (keys, scale, shift, weight))


@pytest.mark.parametrize("seed", SEEDS)
def test_moments_of_a_patch(seed):
    torch.manual_seed(seed)
    footprint, grid = random_footprint(seed)
    keys = _random(2, *grid, 3)
    variance, mean = torch.var_mean(neighbours(keys, footprint), dim=(1, 2, 3), correction=0)
    _same(patch_moments(keys, footprint), [mean, variance], (keys,))


@pytest.mark.parametrize("seed", SEEDS)
def test_dot_products_without_copies_of_the_keys(seed):
    torch.manual_seed(seed)
    footprint, grid = random_footprint(seed)
    queries, keys = _random(2, *footprint.query_grid(*grid), 5), _random(2, *grid, 5)
    slow = dot_product(queries, neighbours(keys, footprint))[..., 0]
    _same([local_dot_product(queries, keys, footprint)], [slow], (queries, keys))


def _pairwise(dtype=torch.float64):
    torch.manual_seed(0)
    operands = torch.randn(3, 4, 5, 6), torch.randn(3, 4, 5, 6), torch.randn(2, 6)
    return lambda *operands: pairwise_sum_linear(*operands, Footprint(3)), [part.to(dtype) for part in operands]


def _patchwise(dtype=torch.float64):
    torch.manual_seed(0)
    operands = torch.randn(3, 4, 5, 6), torch.randn(9, 6), torch.randn(9, 6), torch.randn(9, 2, 6)
    return lambda *operands: patch_linear(*operands, Footprint(3)), [part.to(dtype) for part in operands]


@pytest.mark.parametrize("make", [_pairwise, _patchwise])
def test_tiles_do_not_show(make, monkeypatch):
    function, operands = make()
    operands = [operand.requires_grad_() for operand in operands]
    whole = function(*operands)
    gradients = torch.autograd.grad(whole.square().sum(), operands)
    monkeypatch.setattr("headgrid.ops.tiles.CACHED_ELEMENTS", 1)
    tiled = function(*operands)
    torch.testing.assert_close(tiled, whole)
    torch.testing.assert_close(torch.autograd.grad(tiled.square().sum(), operands), gradients)


@pytest.mark.parametrize("make", [_pairwise, _patchwise])
def test_products_have_the_type_of_the_weight(make):
    function, operands = make(torch.float32)
    exact = function(*operands)
    operands = [*operands[:-1], operands[-1].bfloat16()]
    operands = [operand.requires_grad_() for operand in operands]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = function(*operands)
        gradients = torch.autograd.grad(half.float().square().sum(), operands)
    torch.testing.assert_close(half.float(), exact, rtol=2e-2, atol=5e-2)
    assert [gradient.dtype for gradient in gradients] == [operand.dtype for operand in operands]


def test_they_are_proper_operators_of_torch():
    numbers = 3, 2, 1
    pairwise = _random(2, 2, 3, 4), _random(2, 6, 7, 4), _random(3, 4)
    torch.library.opcheck(torch.ops.headgrid.pairwise_sum_linear.default, (*pairwise, *numbers), test_utils=CHECKS)
    patch = _random(2, 6, 7, 4), _random(9, 4), _random(9, 4), _random(9, 3, 4)
    torch.library.opcheck(torch.ops.headgrid.patch_linear.default, (*patch, *numbers), test_utils=CHECKS)


@pytest.mark.parametrize("make", [_pairwise, _patchwise])
def test_multiply_adds_are_counted_in_both_directions(make):
    function, operands = make()
    with FlopCounterMode(display=False) as forward:
        function(*operands)
    with FlopCounterMode(display=False) as both:
        function(*(operand.requires_grad_() for operand in operands)).sum().backward()
    assert forward.get_total_flops() == 2 * 9 * operands[0].numel() * 2
    assert both.get_total_flops() == 3 * forward.get_total_flops()
