import numpy as np
import pytest
import torch

from footprint_loops import keys_of, queries_of, random_footprint
from headgrid.ops import Footprint, ZeroPadding, at_queries, dense_weights, neighbours
from headgrid.ops.footprint import incidence, pad, windows

SEEDS = range(25)


@pytest.mark.parametrize("grid", [(1, 1), (1, 4), (2, 3), (5, 9), (8, 12)])
@pytest.mark.parametrize(("size", "dilation"), [(3, 1), (7, 1), (5, 3)])
def test_a_mirror_image_is_mirrored_again_as_numpy_does(size, dilation, grid):
    maps = torch.randn(2, *grid, 3)
    footprint = Footprint(size, dilation=dilation)
    reach = ((0, 0), (footprint.reach,) * 2, (footprint.reach,) * 2, (0, 0))
    expected = np.pad(maps.numpy(), reach, mode="reflect")
    np.testing.assert_array_equal(pad(maps, footprint).numpy(), expected)


def test_zeros_stand_outside():
    maps = torch.ones(1, 2, 3, 1)
    padded = pad(maps, Footprint(5, padding=ZeroPadding()))
    assert padded.shape == (1, 6, 7, 1)
    assert padded.sum() == 6
    assert padded[:, 2:4, 2:5].sum() == 6


@pytest.mark.parametrize("seed", SEEDS)
def test_neighbours_are_the_pixels_of_the_footprint(seed):
    footprint, grid = random_footprint(seed)
    maps = torch.randn(2, *grid, 3)
    written_out = neighbours(maps, footprint)
    assert written_out.shape == (footprint.num_positions, 2, *footprint.query_grid(*grid), 3)
    for query in queries_of(footprint, grid):
        for position, key in enumerate(keys_of(query, footprint, grid)):
            expected = torch.zeros(2, 3) if key is None else maps[:, key[0], key[1]]
            assert torch.equal(written_out[position, :, query[0], query[1]], expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_windows_are_neighbours_without_a_copy(seed):
    footprint, grid = random_footprint(seed)
    padded = pad(torch.randn(2, *grid, 3), footprint)
    views = windows(padded, footprint)
    assert views.data_ptr() == padded.data_ptr()
    maps = padded[:, footprint.reach : footprint.reach + grid[0], footprint.reach : footprint.reach + grid[1]]
    assert torch.equal(views.flatten(0, 1), neighbours(maps, footprint))


def test_shifts_are_key_minus_query():
    footprint = Footprint(3, dilation=2)
    maps = torch.stack(torch.meshgrid(torch.arange(7.0), torch.arange(9.0), indexing="ij"), dim=-1)[None]
    difference = neighbours(maps, footprint) - at_queries(maps, footprint)
    torch.testing.assert_close(difference[:, 0, 3, 4], footprint.shifts().float())


@pytest.mark.parametrize("seed", SEEDS)
def test_incidence_counts_what_a_footprint_reads(seed):
    footprint, grid = random_footprint(seed)
    maps = torch.randn(2, *grid, 3, dtype=torch.float64)
    rows, columns = (incidence(length, footprint).double() for length in grid)
    read = torch.einsum("ihy,jwx,byxc->ijbhwc", rows, columns, maps).flatten(0, 1)
    torch.testing.assert_close(read, neighbours(maps, footprint))


@pytest.mark.parametrize("seed", SEEDS)
def test_dense_weights_apply_to_the_map_as_the_footprint_does(seed):
    footprint, grid = random_footprint(seed)
    weights = torch.rand(2, 4, *footprint.query_grid(*grid), footprint.num_positions, dtype=torch.float64)
    maps = torch.randn(2, *grid, 3, dtype=torch.float64)
    dense = torch.einsum("bnhwyx,byxc->bnhwc", dense_weights(weights, footprint, grid), maps)
    local = torch.einsum("bnhwk,kbhwc->bnhwc", weights, neighbours(maps, footprint))
    torch.testing.assert_close(dense, local)


@pytest.mark.parametrize("seed", range(5))
def test_gradients_of_padding_flow_back_to_the_mirrored_pixels(seed):
    footprint, grid = random_footprint(seed)
    maps = torch.randn(1, *grid, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda maps: pad(maps, footprint), maps)


@pytest.mark.parametrize("wrong", [{"size": 4}, {"size": 0}, {"stride": 0}, {"dilation": 0}])
def test_a_footprint_that_cannot_be_is_refused(wrong):
    with pytest.raises(ValueError, match="footprint"):
        Footprint(**wrong)
