import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from footprint_loops import keys_of, queries_of, random_footprint
from headgrid.ops import Footprint, explicit_vector_aggregation, vector_aggregation
from headgrid.ops.footprint_products import aggregate, correlate, scatter

SEEDS = range(25)

CHECKS = ("test_schema", "test_autograd_registration", "test_faketensor")
"""Of `torch.library.opcheck`; that the compiler takes the operators, the slow tests of whole models show."""


def _operands(footprint, grid, groups=2, members=3):
    torch.manual_seed(1)
    values = torch.randn(2, *grid, members * groups, dtype=torch.float64, requires_grad=True)
    shape = (footprint.num_positions, 2, *footprint.query_grid(*grid), groups)
    weights = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    return values, weights


def _loop(values, weights, footprint, seen):
    """The equation, one product at a time; and what it does to the gradient ``seen`` of the output."""
    grid, num_groups = values.shape[1:3], weights.shape[-1]
    output, of_values, of_weights = torch.zeros_like(seen), torch.zeros_like(values), torch.zeros_like(weights)
    for image in range(len(values)):
        for h, w in queries_of(footprint, grid):
            for position, key in enumerate(keys_of((h, w), footprint, grid)):
                if key is None:
                    continue
                for channel in range(values.shape[-1]):
                    weight = (position, image, h, w, channel % num_groups)
                    value = (image, *key, channel)
                    output[image, h, w, channel] += weights[weight] * values[value]
                    of_values[value] += weights[weight] * seen[image, h, w, channel]
                    of_weights[weight] += values[value] * seen[image, h, w, channel]
    return output, of_values, of_weights


@pytest.mark.parametrize("aggregation", [vector_aggregation, explicit_vector_aggregation])
@pytest.mark.parametrize("seed", SEEDS)
def test_agrees_with_scalar_loops(seed, aggregation):
    footprint, (height, width) = random_footprint(seed)
    grid = min(height, 4), min(width, 5)
    values, weights = _operands(footprint, grid)
    output = aggregation(values, weights, footprint)
    seen = torch.randn_like(output)
    gradients = torch.autograd.grad((output * seen).sum(), (values, weights))
    with torch.no_grad():
        expected = _loop(values, weights, footprint, seen)
    torch.testing.assert_close((output, *gradients), expected)


@pytest.mark.parametrize("seed", range(6))
def test_the_products_are_each_others_gradients(seed):
    footprint, grid = random_footprint(seed)
    grid = min(grid[0], 3), min(grid[1], 4)
    padded = tuple(length + 2 * footprint.reach for length in grid)
    queries = footprint.query_grid(*grid)
    weights = torch.randn(footprint.num_positions, 1, *queries, 2, dtype=torch.float64, requires_grad=True)
    values = torch.randn(1, 2, *padded, 2, dtype=torch.float64, requires_grad=True)
    outputs = torch.randn(1, 2, *queries, 2, dtype=torch.float64, requires_grad=True)
    products = (
        (lambda weights, values: aggregate(weights, values, footprint), (weights, values)),
        (lambda weights, outputs: scatter(weights, outputs, padded, footprint), (weights, outputs)),
        (lambda values, outputs: correlate(values, outputs, footprint), (values, outputs)),
    )
    for product, operands in products:
        assert torch.autograd.gradcheck(product, operands, fast_mode=True)
        assert torch.autograd.gradgradcheck(product, operands, fast_mode=True)


def test_tiles_do_not_show(monkeypatch):
    footprint, grid = Footprint(3), (5, 6)
    values, weights = (operand.detach() for operand in _operands(footprint, grid))
    whole = vector_aggregation(values, weights, footprint)
    monkeypatch.setattr("headgrid.ops.tiles.CACHED_ELEMENTS", 1)
    assert torch.equal(vector_aggregation(values, weights, footprint), whole)


def test_half_precision_is_summed_in_single():
    footprint = Footprint(7)
    values, weights = (operand.detach().float() for operand in _operands(footprint, (6, 9)))
    half = vector_aggregation(values.bfloat16(), weights.bfloat16(), footprint)
    expected = vector_aggregation(values.bfloat16().double(), weights.bfloat16().double(), footprint)
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half, expected.bfloat16(), rtol=2**-7, atol=0)


def test_memory_is_that_of_the_operands():
    footprint, grid = Footprint(7), (24, 28)
    values = torch.randn(2, *grid, 32, requires_grad=True)
    weights = torch.rand(49, 2, *grid, 4, requires_grad=True)
    with torch.profiler.profile(profile_memory=True) as profile:
        vector_aggregation(values, weights, footprint).sum().backward()
    allocations = [event for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = largest = 0
    for event in sorted(allocations, key=lambda event: event.start_ns()):
        held += event.nbytes()
        largest = max(largest, held)
    # The gradient of the weights has to exist; K^2 copies of the values would be 49 times their size.
    assert weights.nbytes < largest < weights.nbytes + 8 * values.nbytes


def test_the_products_are_proper_operators_of_torch():
    _, weights = _operands(Footprint(3, stride=2, dilation=2), (5, 6))
    padded = torch.randn(2, 3, 9, 10, 2, dtype=torch.float64, requires_grad=True)
    outputs = torch.randn(2, 3, 3, 3, 2, dtype=torch.float64, requires_grad=True)
    for operator, arguments in (
        (torch.ops.headgrid.aggregate.default, (weights, padded, 3, 2, 2)),
        (torch.ops.headgrid.scatter.default, (weights, outputs, 9, 10, 3, 2, 2)),
        (torch.ops.headgrid.correlate.default, (padded, outputs, 3, 2, 2)),
    ):
        torch.library.opcheck(operator, arguments, test_utils=CHECKS)


def test_multiply_adds_are_counted():
    footprint = Footprint(3)
    values, weights = (operand.detach() for operand in _operands(footprint, (4, 5)))
    counts = []
    for aggregation in (vector_aggregation, explicit_vector_aggregation):
        with FlopCounterMode(display=False) as counter:
            aggregation(values, weights, footprint)
        counts.append(counter.get_total_flops())
    assert counts == [2 * 9 * values.numel()] * 2


def test_groups_must_share_the_channels_evenly():
    with pytest.raises(ValueError, match="7 channels cannot share the weights of 3 groups evenly"):
        vector_aggregation(torch.zeros(1, 2, 3, 7), torch.zeros(9, 1, 2, 3, 3), Footprint(3))
