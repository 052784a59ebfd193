"""The figure of Theorem 1: every head stands where its kernel element stands, and shows its map."""

import numpy as np
import pytest
import torch
from torch import nn

pytest.importorskip("matplotlib")

from headgrid.figures.kernel_as_heads import kernel_as_heads
from headgrid.theory import convert_convolution

from .reading import frames


def _figure(kernel_size, query=(3, 4)):
    torch.manual_seed(0)
    conv = nn.Conv2d(1, 1, kernel_size)
    rows, columns = kernel_size
    with torch.no_grad():
        conv.weight.copy_(torch.arange(1.0, 1 + rows * columns).view(1, 1, rows, columns) * (-1) ** rows)
    first = ((rows - 1) // 2, (columns - 1) // 2)
    maps = convert_convolution(conv).weights(7, 9).detach()[:, query[0] - first[0], query[1] - first[1]]
    return kernel_as_heads(conv.weight[0, 0].detach().numpy(), maps.numpy(), query), conv.weight[0, 0]


@pytest.mark.parametrize("kernel_size", [(3, 3), (2, 3), (1, 1)])
def test_heads_stand_where_their_elements_stand(kernel_size, tmp_path):
    figure, kernel = _figure(kernel_size)
    left, *heads = figure.axes[kernel.numel()], *figure.axes[: kernel.numel()]
    np.testing.assert_allclose(left.images[0].get_array(), kernel.detach().numpy())
    for head, axis in enumerate(heads):
        row, column = divmod(head, kernel_size[1])
        expected = np.zeros((7, 9))
        expected[3 + row - (kernel_size[0] - 1) // 2, 4 + column - (kernel_size[1] - 1) // 2] = 1
        np.testing.assert_allclose(axis.images[0].get_array(), expected, atol=1e-6)
        assert axis.get_title() == f"{float(kernel[row, column].detach()):+.2f}".replace("-", "−")
        assert [(row, column) for row, column, _ in frames(axis)] == [(3.5, 4.5)]
    figure.savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 5_000


def test_there_is_a_head_for_each_element():
    with pytest.raises(ValueError, match="a 3 x 3 kernel is computed by 9 heads, got 8"):
        kernel_as_heads(np.zeros((3, 3)), np.zeros((8, 5, 5)), (2, 2))
