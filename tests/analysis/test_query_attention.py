"""The attention of one query pixel, named by its place in the image."""

import pytest
import torch
from made_records import STRIDED, random_layer, record_of

from headgrid.analysis.attention_record import Placement
from headgrid.analysis.query_attention import mean_query_attention, query_at, query_attention, query_centers


def test_layers_of_different_grids_answer_for_the_same_place():
    # Patches of 2 x 3 pixels: (3, 10) lies in patch (1, 3). On the full grid it is pixel (3, 10) itself.
    coarse = random_layer(name="coarse")
    fine = random_layer(placement=Placement.of_grid((6, 12), (6, 12)), name="fine")
    maps = query_attention(record_of(coarse, fine), 3, 10)
    assert torch.equal(maps["coarse"], coarse.weights[:, :, 1, 3])
    assert torch.equal(maps["fine"], fine.weights[:, :, 3, 10])


def test_nearest_query_of_a_strided_layer_on_a_padded_map():
    # Key row 1 is the first that is no padding: image rows 0 and 1, with their middle at 0.5.
    assert query_centers(STRIDED) == ((0.5, 4.5), (1.0, 4.0, 10.0))
    for row in range(8):
        for column in range(12):
            distances = {
                (h, w): abs(2 * (r - 1) + 0.5 - row) + abs(3 * (c - 1) + 1 - column)
                for h, r in enumerate(STRIDED.query_rows)
                for w, c in enumerate(STRIDED.query_columns)
            }
            found = query_at(STRIDED, row, column)
            assert distances[found] == min(distances.values())


def test_mean_over_batches():
    first, second = random_layer(num_images=2), random_layer(num_images=1, seed=1)
    mean = mean_query_attention([record_of(first), record_of(second)], 5, 0)["layer"]
    expected = (first.weights[0] + first.weights[1] + second.weights[0])[:, 2, 0] / 3
    torch.testing.assert_close(mean, expected)


@pytest.mark.parametrize("place", [(6, 0), (0, 12), (-1, 3)])
def test_a_place_outside_of_the_image(place):
    with pytest.raises(ValueError, match="rows go from 0 to 5 and columns from 0 to 11"):
        query_attention(record_of(random_layer()), *place)
