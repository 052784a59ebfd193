"""Cells of pixels become channels, in the order (row, column, colour)."""

from itertools import product

import pytest
import torch

from headgrid.layers import PixelConcatenation


@pytest.mark.parametrize("cell", [1, 2, 3])
def test_order_of_the_channels(cell):
    images = torch.arange(2 * 3 * 6 * 12.0).view(2, 3, 6, 12)
    pixels = PixelConcatenation(cell)(images)
    assert pixels.shape == (2, 6 // cell, 12 // cell, 3 * cell**2)
    for h, w, i, j, color in product(range(6 // cell), range(12 // cell), range(cell), range(cell), range(3)):
        channel = (i * cell + j) * 3 + color
        assert torch.equal(pixels[:, h, w, channel], images[:, color, h * cell + i, w * cell + j])


def test_moving_the_image_by_a_cell_moves_the_pixels():
    images = torch.randn(1, 3, 6, 8)
    concatenate = PixelConcatenation(2)
    moved = concatenate(images.roll((2, 4), dims=(2, 3)))
    assert torch.equal(moved, concatenate(images).roll((1, 2), dims=(1, 2)))


def test_transposing_the_image_transposes_cells_and_their_order():
    images = torch.randn(1, 3, 6, 8)
    concatenate = PixelConcatenation(2)
    cells = concatenate(images).unflatten(-1, (2, 2, 3))
    transposed = concatenate(images.transpose(2, 3)).unflatten(-1, (2, 2, 3))
    assert torch.equal(transposed, cells.permute(0, 2, 1, 4, 3, 5))


@pytest.mark.parametrize("size", [(5, 6), (6, 7)])
def test_images_that_cannot_be_cut_into_cells_are_refused(size):
    message = f"images of {size[0]} x {size[1]} pixels cannot be cut into cells of 2 x 2: .* multiples of 2"
    with pytest.raises(ValueError, match=message):
        PixelConcatenation(2)(torch.zeros(1, 3, *size))
