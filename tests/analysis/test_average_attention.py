"""Average attention in its two meanings."""

import pytest
import torch
from made_records import GRID, STRIDED, layer_of, random_layer, record_of

from headgrid.analysis.average_attention import average_attention, mean_average_attention


@pytest.mark.parametrize(("options", "num_tokens"), [({}, 0), ({}, 2), ({"placement": STRIDED}, 0)])
def test_against_loops(options, num_tokens):
    layer = random_layer(num_tokens=num_tokens, **options)
    average = average_attention(layer)
    (height, width), (rows, columns) = layer.placement.queries, layer.grid
    for image in range(3):
        for head in range(2):
            for y in range(rows):
                for x in range(columns):
                    looked_at = [
                        float(layer.weights[image, head, h, w, y, x]) for h in range(height) for w in range(width)
                    ]
                    assert float(average.received[image, head, y, x]) == pytest.approx(
                        sum(looked_at) / len(looked_at)
                    )
            for h in range(height):
                for w in range(width):
                    looks = layer.weights[image, head, h, w].flatten().tolist()
                    assert float(average.given[image, head, h, w]) == pytest.approx(sum(looks) / len(looks))


def test_of_a_uniform_map_both_are_uniform():
    pixels = GRID[0] * GRID[1]
    average = average_attention(layer_of(torch.full((1, 1, *GRID, *GRID), 1 / pixels)))
    torch.testing.assert_close(average.received, torch.full((1, 1, *GRID), 1 / pixels))
    torch.testing.assert_close(average.given, torch.full((1, 1, *GRID), 1 / pixels))


def test_a_pixel_that_all_look_at_receives_most():
    weights = torch.zeros(1, 1, *GRID, *GRID)
    weights[..., 1, 2] = 1
    average = average_attention(layer_of(weights))
    assert float(average.received[0, 0, 1, 2]) == 1
    assert float(average.received.sum()) == 1
    torch.testing.assert_close(average.given, torch.full((1, 1, *GRID), 1 / 12))


def test_tokens_take_from_what_is_given():
    average = average_attention(random_layer(num_tokens=1))
    assert (average.given < 1 / 12).all()


def test_mean_over_batches_is_that_over_all_images():
    whole = random_layer(num_images=5)
    parts = [layer_of(part, image_size=(6, 12)) for part in whole.weights.split(2)]
    means = mean_average_attention(record_of(part) for part in parts)
    expected = average_attention(whole)
    torch.testing.assert_close(means["layer"].received, expected.received.mean(dim=0))
    torch.testing.assert_close(means["layer"].given, expected.given.mean(dim=0))


def test_nothing_to_average():
    with pytest.raises(ValueError, match="nothing to average"):
        mean_average_attention([])


def test_images_of_two_sizes():
    small = layer_of(torch.full((1, 2, 2, 2, 2, 2), 0.25))
    with pytest.raises(ValueError, match="images of one size"):
        mean_average_attention([record_of(random_layer()), record_of(small, image_size=(2, 2))])
