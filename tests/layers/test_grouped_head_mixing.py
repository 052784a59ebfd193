"""Grouped mixing against one dense matrix with zeros between the groups."""

import pytest
import torch

from headgrid.layers import GroupedHeadMixing, HeadMixing


@pytest.mark.parametrize("num_groups", [1, 2, 6])
def test_agrees_with_a_dense_mixing_values_and_gradients(num_groups):
    torch.manual_seed(0)
    grouped = GroupedHeadMixing(num_groups, num_heads=4, head_dim=6, dim=12).double()
    dense = HeadMixing(num_heads=4, head_dim=6, dim=12).double()
    with torch.no_grad():
        dense.weight.copy_(grouped.head_matrices.flatten(0, 1).T)
        dense.bias.copy_(grouped.bias)
    heads = torch.randn(2, 3, 5, 4, 6, dtype=torch.float64, requires_grad=True)
    first, second = grouped(heads), dense(heads)
    torch.testing.assert_close(first, second)
    direction = torch.randn_like(first)
    torch.testing.assert_close(
        torch.autograd.grad(first, heads, direction, retain_graph=True),
        torch.autograd.grad(second, heads, direction, retain_graph=True),
    )
    (weight_gradient,) = torch.autograd.grad(first, grouped.weight, direction)
    (dense_gradient,) = torch.autograd.grad(second, dense.weight, direction)
    blocks = dense_gradient.unflatten(0, (num_groups, -1)).unflatten(2, (4, num_groups, -1))
    on_the_diagonal = torch.stack([blocks[group, :, :, group] for group in range(num_groups)])
    torch.testing.assert_close(weight_gradient, on_the_diagonal.flatten(0, 1).flatten(1))


def test_only_the_blocks_are_parameters():
    assert GroupedHeadMixing(8, num_heads=9, head_dim=8, dim=16).weight.shape == (16, 9)


def test_groups_must_divide_the_channels():
    with pytest.raises(ValueError, match="4 groups must divide the 6 channels of a head and the 8 output channels"):
        GroupedHeadMixing(4, num_heads=2, head_dim=6, dim=8)
