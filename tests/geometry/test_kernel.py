"""The shift of each kernel element, against what `torch.nn.functional.conv2d` reads."""

import pytest
import torch
import torch.nn.functional as F

from headgrid.geometry import kernel_shifts


def test_a_3_x_3_kernel_reads_its_neighbours_row_by_row():
    assert kernel_shifts((3, 3)).tolist() == [
        [-1, -1], [-1, 0], [-1, 1],
        [0, -1], [0, 0], [0, 1],
        [1, -1], [1, 0], [1, 1],
    ]  # fmt: skip


def test_rows_come_first_in_kernels_that_are_not_square():
    assert kernel_shifts((1, 3)).tolist() == [[0, -1], [0, 0], [0, 1]]
    assert kernel_shifts((3, 1)).tolist() == [[-1, 0], [0, 0], [1, 0]]


def test_even_kernels_reach_one_pixel_further_down_and_right():
    assert kernel_shifts((2, 4)).tolist() == [[row, column] for row in (0, 1) for column in (-1, 0, 1, 2)]


@pytest.mark.parametrize(("kernel_size", "dilation"), [((3, 3), (1, 1)), ((5, 3), (1, 2)), ((1, 5), (3, 2))])
def test_conv2d_reads_the_same_pixels(kernel_size, dilation):
    """A convolution with a single one in its kernel moves the image by that element's shift."""
    height, width = 13, 17
    image = torch.arange(height * width, dtype=torch.float64).view(1, 1, height, width)
    padding = tuple(step * (size // 2) for step, size in zip(dilation, kernel_size, strict=True))
    for element, (row, column) in enumerate(kernel_shifts(kernel_size, dilation).tolist()):
        kernel = torch.zeros(kernel_size[0] * kernel_size[1], dtype=torch.float64)
        kernel[element] = 1
        moved = F.conv2d(image, kernel.view(1, 1, *kernel_size), padding=padding, dilation=dilation)
        assert moved[0, 0, 6, 8] == image[0, 0, 6 + row, 8 + column]
