import pytest
import torch

from headgrid.analysis.attention_record import LayerAttention, Placement, layer_of_matrix
from headgrid.geometry import relative_shift


def test_tokens_and_pixels_come_apart_and_together_again():
    matrix = torch.randn(2, 3, 2 + 15, 2 + 15).softmax(dim=-1)
    layer = layer_of_matrix("layer", matrix, Placement.of_grid((3, 5), (12, 20)), num_tokens=2)
    assert layer.weights.shape == (2, 3, 3, 5, 3, 5)
    assert torch.equal(layer.weights[1, 2, 1, 4, 2, 3], matrix[1, 2, 2 + 9, 2 + 13])
    assert layer.tokens is not None
    assert torch.equal(layer.tokens.to_pixels[0, 1, 1, 2, 3], matrix[0, 1, 1, 2 + 13])
    assert torch.equal(layer.tokens.from_pixels[0, 1, 2, 3, 1], matrix[0, 1, 2 + 13, 1])
    assert torch.equal(layer.tokens.among, matrix[..., :2, :2])
    assert torch.equal(layer.matrix(), matrix)


def test_shifts_of_a_grid_and_of_queries_with_a_stride_on_a_padded_map():
    placement = Placement.of_grid((3, 5), (12, 20))
    assert placement.pixel_size == (4.0, 4.0)
    assert torch.equal(placement.shifts(), relative_shift(3, 5))
    padded = Placement((5, 4), query_rows=(1, 3), query_columns=(1, 2), pixel_size=(1.0, 1.0), padding=(1, 1))
    assert padded.shifts()[1, 0, 4, 3].tolist() == [1, 2]
    assert padded.queries == (2, 2)


def test_a_query_outside_of_the_map():
    layer = LayerAttention("layer", torch.full((1, 1, 2, 3, 2, 3), 1 / 6), Placement.of_grid((2, 3), (2, 3)))
    assert layer.of_query(1, 2).shape == (1, 1, 2, 3)
    with pytest.raises(ValueError, match="columns from 0 to 2"):
        layer.of_query(0, 3)
