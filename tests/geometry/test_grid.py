"""Pixels and shifts, one by one: rows before columns, and a shift is key minus query."""

from itertools import product

from headgrid.geometry import axis_shifts, pixel_grid, relative_shift


def test_pixel_grid_has_rows_first():
    grid = pixel_grid(3, 5)
    assert grid.shape == (3, 5, 2)
    for row, column in product(range(3), range(5)):
        assert grid[row, column].tolist() == [row, column]


def test_axis_shift_is_key_minus_query():
    shifts = axis_shifts(4)
    for query, key in product(range(4), range(4)):
        assert shifts[query, key] == key - query


def test_relative_shift_is_key_minus_query_on_both_axes():
    shifts = relative_shift(3, 4)
    assert shifts.shape == (3, 4, 3, 4, 2)
    for h, w, y, x in product(range(3), range(4), range(3), range(4)):
        assert shifts[h, w, y, x].tolist() == [y - h, x - w]
