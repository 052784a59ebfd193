"""Turned images against loops over pixels, on images that are not square."""

import pytest
import torch
from PIL import Image
from torch import Tensor

from headgrid.evaluation.rotation import ROTATIONS, Rotation, UpsideDown

QUARTER, HALF, THREE_QUARTERS, UPSIDE_DOWN = ROTATIONS


def _images() -> Tensor:
    return torch.rand(2, 3, 4, 7)


def test_a_picture_that_anybody_can_check():
    picture = torch.tensor([[1, 2, 3], [4, 5, 6]])[None, None].float()
    seen = {check.name: check.apply(picture)[0, 0].int().tolist() for check in ROTATIONS}
    assert seen == {
        "clockwise 90": [[4, 1], [5, 2], [6, 3]],
        "clockwise 180": [[6, 5, 4], [3, 2, 1]],
        "clockwise 270": [[3, 6], [2, 5], [1, 4]],
        "upside-down": [[4, 5, 6], [1, 2, 3]],
    }


def test_agrees_with_loops_over_pixels():
    images = _images()
    height, width = images.shape[2:]
    swapped, kept = torch.empty(2, 3, width, height), torch.empty_like(images)
    expected = {QUARTER: swapped, HALF: kept, THREE_QUARTERS: swapped.clone(), UPSIDE_DOWN: kept.clone()}
    for row in range(height):
        for column in range(width):
            pixel = images[:, :, row, column]
            # Clockwise by a quarter, the top row becomes the right column.
            expected[QUARTER][:, :, column, height - 1 - row] = pixel
            expected[HALF][:, :, height - 1 - row, width - 1 - column] = pixel
            expected[THREE_QUARTERS][:, :, width - 1 - column, row] = pixel
            expected[UPSIDE_DOWN][:, :, height - 1 - row, column] = pixel
    for check, turned in expected.items():
        torch.testing.assert_close(check.apply(images), turned, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("check", "of_pillow"),
    [
        # Pillow turns against the clock.
        (QUARTER, Image.Transpose.ROTATE_270),
        (HALF, Image.Transpose.ROTATE_180),
        (THREE_QUARTERS, Image.Transpose.ROTATE_90),
        (UPSIDE_DOWN, Image.Transpose.FLIP_TOP_BOTTOM),
    ],
)
def test_agrees_with_pillow(check: Rotation | UpsideDown, of_pillow: Image.Transpose):
    image = Image.frombytes("L", (7, 4), bytes(range(28)))
    expected = image.transpose(of_pillow)
    turned = check.apply(torch.arange(28.0).view(1, 1, 4, 7))
    assert bytes(turned.flatten().int().tolist()) == expected.tobytes()
    assert turned.shape[2:] == (expected.height, expected.width)


def test_quarters_add_up_to_whole_turns():
    images = _images()
    torch.testing.assert_close(QUARTER.apply(THREE_QUARTERS.apply(images)), images, rtol=0, atol=0)
    torch.testing.assert_close(QUARTER.apply(QUARTER.apply(images)), HALF.apply(images), rtol=0, atol=0)


@pytest.mark.parametrize("quarter_turns", [0, 4, -1])
def test_a_turn_that_is_none_is_refused(quarter_turns: int):
    with pytest.raises(ValueError, match=f"turned by 1, 2 or 3 quarters, not by {quarter_turns}"):
        Rotation(quarter_turns)
