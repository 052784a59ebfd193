"""Where heads start to look."""

import pytest
import torch

from headgrid.scores import GridCenters, RandomCenters


def test_random_centres_have_the_papers_deviation_and_spreads_are_near_one():
    torch.manual_seed(0)
    random = RandomCenters()
    assert random.centers(5000).std(0).tolist() == pytest.approx([2.0, 2.0], rel=0.05)
    assert random.spreads(5000).mean().item() == pytest.approx(1.0, abs=0.001)
    assert random.spreads(5000).std().item() == pytest.approx(0.01, rel=0.05)
    matrices = random.spread_matrices(5000)
    torch.testing.assert_close(matrices.mean(0), torch.eye(2), rtol=0, atol=0.001)
    torch.testing.assert_close(matrices.std(0), torch.full((2, 2), 0.01), rtol=0.05, atol=0)


def test_grid_centres_are_the_shifts_of_a_kernel():
    grid = GridCenters(sharpness=4.5)
    assert grid.centers(9).tolist() == [[row, column] for row in (-1, 0, 1) for column in (-1, 0, 1)]
    assert grid.spreads(2).tolist() == [3.0, 3.0]  # sharpness is spread^2 / 2
    assert grid.spread_matrices(1).tolist() == [[[3.0, 0.0], [0.0, 3.0]]]


def test_grid_centres_refuse_what_is_no_grid():
    with pytest.raises(ValueError, match="K x K grid need a square number of heads, got 8"):
        GridCenters().centers(8)
    with pytest.raises(ValueError, match="sharpness of a head must be positive and finite, got -1"):
        GridCenters(-1.0).spreads(9)
