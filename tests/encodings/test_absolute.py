"""Absolute encodings: a vector for every pixel, rows before columns."""

import pytest
import torch

from headgrid.encodings import LearnedAbsoluteConfig, SinusoidalAbsoluteConfig, sinusoids


def test_learned_vectors_stay_with_their_pixels_on_smaller_maps():
    encoding, like = LearnedAbsoluteConfig().build(3, (4, 7)), torch.zeros(1)
    assert encoding(4, 7, like).shape == (4, 7, 3)
    assert torch.equal(encoding(3, 5, like), encoding.table[:3, :5])


def test_learned_vectors_start_small():
    torch.manual_seed(0)
    table = LearnedAbsoluteConfig(init_std=0.3).build(50, (20, 30)).table
    assert table.std().item() == pytest.approx(0.3, rel=0.05)


@pytest.mark.parametrize("grid", [(5, 7), (4, 8)])
def test_pixels_beyond_the_table_are_refused(grid):
    encoding = LearnedAbsoluteConfig().build(3, (4, 7))
    message = rf"built for 4 x 7 pixels and the map has {grid[0]} x {grid[1]}: .*enlarge_tables\(model"
    with pytest.raises(ValueError, match=message):
        encoding(*grid, torch.zeros(1))


def test_an_enlarged_table_keeps_its_corners_and_planes():
    encoding = LearnedAbsoluteConfig().build(1, (3, 4))
    with torch.no_grad():
        rows, columns = torch.arange(3.0), torch.arange(4.0)
        encoding.table.copy_((10 * rows[:, None] + columns)[:, :, None])
    encoding.enlarge((5, 10))
    expected = 10 * torch.linspace(0, 2, 5)[:, None] + torch.linspace(0, 3, 10)
    torch.testing.assert_close(encoding.table[:, :, 0].detach(), expected)
    assert encoding(5, 10, torch.zeros(1)).requires_grad


def test_sinusoids_of_row_and_column():
    encoding, like = SinusoidalAbsoluteConfig().build(8, (3, 5)), torch.zeros(1, dtype=torch.float64)
    table = encoding(3, 5, like)
    for row in range(3):
        for column in range(5):
            halves = [sinusoids(torch.tensor(float(place), dtype=torch.float64), 4) for place in (row, column)]
            torch.testing.assert_close(table[row, column], torch.cat(halves))
    assert encoding(40, 50, like).shape == (40, 50, 8)
    assert encoding(2, 3, like.bfloat16()).dtype == torch.bfloat16


def test_sinusoids_need_a_size_divisible_by_four():
    with pytest.raises(ValueError, match="divisible by 4, got 10"):
        SinusoidalAbsoluteConfig().build(10, (3, 5))
