"""Tables of shifts: which entry a pair of pixels reads, what is beyond the tables, and how they are stretched."""

from itertools import product

import pytest
import torch

from headgrid.encodings import LearnedRelative, LearnedRelativeConfig


def _numbered(grid: tuple[int, int]) -> LearnedRelative:
    """Tables whose entry for a shift is the shift itself, so that they say what was read."""
    encoding = LearnedRelative(1, grid)
    with torch.no_grad():
        for table, length in ((encoding.row_table, grid[0]), (encoding.column_table, grid[1])):
            table.copy_(torch.arange(-(length - 1), length)[:, None].float())
    return encoding


@pytest.mark.parametrize("grid", [(4, 7), (3, 7), (4, 2), (1, 1)])
def test_entries_follow_the_shift_also_on_maps_smaller_than_the_tables(grid):
    encoding = _numbered((4, 7))
    pixels = torch.zeros(1)
    rows, columns = encoding.rows(grid[0], pixels), encoding.columns(grid[1], pixels)
    assert rows.shape == (grid[0], grid[0], 1)
    assert columns.shape == (grid[1], grid[1], 1)
    for query, key in product(range(grid[0]), repeat=2):
        assert rows[query, key, 0] == key - query
    for query, key in product(range(grid[1]), repeat=2):
        assert columns[query, key, 0] == key - query


def test_knows_the_grid_that_it_was_built_for():
    encoding = LearnedRelative(5, (4, 7))
    assert encoding.grid == (4, 7)
    assert encoding.row_table.shape == (7, 5)
    assert encoding.column_table.shape == (13, 5)


def test_shifts_beyond_the_tables_are_refused_axis_by_axis():
    encoding, pixels = LearnedRelative(2, (4, 7)), torch.zeros(1)
    with pytest.raises(ValueError, match=r"built for at most 4 rows and the map has 5: .*enlarge_tables\(model"):
        encoding.rows(5, pixels)
    with pytest.raises(ValueError, match=r"built for at most 7 columns and the map has 8: .*enlarge_tables\(model"):
        encoding.columns(8, pixels)
    encoding.columns(7, pixels)


@pytest.mark.parametrize("grid", [(8, 14), (7, 7), (4, 9), (5, 30)])
def test_enlarged_tables_keep_shift_zero_and_straight_lines(grid):
    encoding = _numbered((4, 7))
    with torch.no_grad():
        encoding.row_table.mul_(3).add_(10)
        encoding.column_table.mul_(-2).add_(5)
    encoding.enlarge(grid)
    assert encoding.grid == grid
    for table, length, ends in ((encoding.row_table, grid[0], (1, 19)), (encoding.column_table, grid[1], (17, -7))):
        expected = torch.linspace(*ends, 2 * length - 1)[:, None]
        torch.testing.assert_close(table.detach(), expected)
    torch.testing.assert_close(encoding.row_table[grid[0] - 1].detach(), torch.tensor([10.0]))
    torch.testing.assert_close(encoding.column_table[grid[1] - 1].detach(), torch.tensor([5.0]))


def test_enlarging_keeps_channels_apart_and_what_is_frozen_frozen():
    torch.manual_seed(0)
    encoding = LearnedRelative(3, (4, 7))
    encoding.row_table.requires_grad_(False)
    before = encoding.row_table.detach().clone()
    encoding.enlarge((7, 7))  # every second entry of the larger table is an entry of the smaller one
    torch.testing.assert_close(encoding.row_table[::2], before)
    torch.testing.assert_close(encoding.row_table[1::2], (before[1:] + before[:-1]) / 2)
    assert not encoding.row_table.requires_grad
    assert encoding.column_table.requires_grad


def test_an_encoding_of_odd_size_is_refused():
    with pytest.raises(ValueError, match="one half for rows and one for columns: 5 is odd"):
        LearnedRelativeConfig().build(5, (4, 7))
