import torch

from headgrid.encodings import CoordinateEncoding, coordinates


def test_coordinates_run_from_minus_one_to_one_columns_first():
    grid = coordinates(3, 5, torch.zeros(1))
    assert grid.shape == (3, 5, 2)
    assert grid[0, 0].tolist() == [-1, -1]
    assert grid[0, 4].tolist() == [1, -1]
    assert grid[2, 0].tolist() == [-1, 1]
    assert grid[1, 3].tolist() == [0.5, 0]


def test_a_map_of_one_pixel_has_a_coordinate():
    assert coordinates(1, 1, torch.zeros(1)).tolist() == [[[-1, -1]]]


def test_neighbours_stay_apart_in_half_precision():
    encoding = CoordinateEncoding()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        encoded = encoding(112, 112)
    assert encoded.dtype == torch.float32
    torch.testing.assert_close(encoded, encoding.linear(coordinates(112, 112, encoded)))
