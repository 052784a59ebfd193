"""Batched crop and flip against a slow twin that does one image after the other."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headgrid.data.augmentation import CropAndFlip, NoAugmentation, RandomResizedCropAndFlip


def crop_and_flip_one(image, padding, row_shift, column_shift, flip):
    """The obvious way: a larger black image, the original in its middle, a window out of it, mirrored or not."""
    c, h, w = image.shape
    canvas = torch.zeros(c, h + 2 * padding, w + 2 * padding, dtype=torch.uint8)
    canvas[:, padding : padding + h, padding : padding + w] = image
    window = canvas[:, row_shift : row_shift + h, column_shift : column_shift + w]
    return window.flip(2) if flip else window


@settings(max_examples=40, deadline=None)
@given(
    b=st.integers(0, 9),
    c=st.integers(1, 3),
    h=st.integers(1, 9),
    w=st.integers(1, 9),
    padding=st.integers(0, 4),
    flip_probability=st.sampled_from([0.0, 0.5, 1.0]),
    seed=st.integers(0, 1000),
)
def test_crop_and_flip_equals_its_slow_twin(b, c, h, w, padding, flip_probability, seed):
    generator = torch.Generator().manual_seed(seed)
    images = torch.randint(1, 256, (b, c, h, w), dtype=torch.uint8, generator=generator)
    uniforms = torch.rand(b, 3, dtype=torch.float64, generator=generator)

    result = CropAndFlip(padding, flip_probability).apply(images, uniforms)

    assert result.shape == images.shape
    assert result.dtype == torch.uint8
    for image, (row, column, flip), changed in zip(images, uniforms.tolist(), result, strict=True):
        row_shift, column_shift = (math.floor(number * (2 * padding + 1)) for number in (row, column))
        expected = crop_and_flip_one(image, padding, row_shift, column_shift, flip < flip_probability)
        assert torch.equal(changed, expected)


def test_all_shifts_and_both_directions_come_equally_often():
    num_images, padding = 20_000, 1
    image = torch.arange(1, 7, dtype=torch.uint8).view(1, 1, 2, 3)
    uniforms = torch.rand(num_images, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    result = CropAndFlip(padding).apply(image.expand(num_images, -1, -1, -1), uniforms)
    kinds, counts = torch.unique(result.flatten(1), dim=0, return_counts=True)
    assert len(kinds) == 9 * 2
    # 18 equally likely kinds: each count lies within five standard deviations of its mean.
    mean = num_images / 18
    assert (counts - mean).abs().max() < 5 * math.sqrt(mean)


def test_largest_random_number_stays_inside():
    largest = 1 - 2.0**-53
    images = torch.randint(0, 256, (1, 3, 5, 7), dtype=torch.uint8)
    for padding in range(40):
        CropAndFlip(padding).apply(images, torch.full((1, 3), largest, dtype=torch.float64))


def test_no_augmentation_changes_nothing():
    images = torch.randint(0, 256, (2, 3, 5, 7), dtype=torch.uint8)
    assert NoAugmentation().apply(images, torch.zeros(2, 0, dtype=torch.float64)) is images


@settings(max_examples=200, deadline=None)
@given(
    height=st.integers(1, 300),
    width=st.integers(1, 300),
    uniforms=st.lists(
        st.floats(0, 1 - 2.0**-53),
        min_size=RandomResizedCropAndFlip.num_uniforms,
        max_size=RandomResizedCropAndFlip.num_uniforms,
    ),
)
def test_random_window_lies_in_the_image(height, width, uniforms):
    left, top, right, bottom = RandomResizedCropAndFlip().window(height, width, uniforms)
    assert 0 <= left < right <= width
    assert 0 <= top < bottom <= height


def test_random_window_has_the_wanted_areas_ratios_and_places():
    augmentation = RandomResizedCropAndFlip(scale=(0.1, 0.25), ratio=(0.5, 2.0))
    height, width, num_windows = 400, 600, 4000  # large enough for every window
    generator = torch.Generator().manual_seed(0)
    uniforms = torch.rand(num_windows, augmentation.num_uniforms, dtype=torch.float64, generator=generator)
    windows = [augmentation.window(height, width, numbers) for numbers in uniforms.tolist()]
    left, top, right, bottom = torch.tensor(windows, dtype=torch.float64).T
    area = (right - left) * (bottom - top) / (height * width)
    ratio = (right - left) / (bottom - top)
    assert 0.097 < area.min() < 0.103
    assert 0.245 < area.max() < 0.253
    assert 0.49 < ratio.min() < 0.52
    assert 1.9 < ratio.max() < 2.05
    assert abs(ratio.log().mean()) < 0.05  # as often twice as wide as twice as tall
    # Places are even over what room there is.
    for start, room in ((left, width - (right - left)), (top, height - (bottom - top))):
        assert abs((start / (room + 1)).mean() - 0.5) < 0.02


def test_window_of_a_narrow_image_is_the_largest_central_one():
    """No window with 3/4 <= ratio <= 4/3 and at least 80 % of the area fits into 10 x 100 pixels."""
    augmentation = RandomResizedCropAndFlip(scale=(0.8, 1.0))
    uniforms = [0.5] * augmentation.num_uniforms
    assert augmentation.window(10, 100, uniforms) == (43, 0, 56, 10)
    assert augmentation.window(100, 10, uniforms) == (0, 43, 10, 56)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CropAndFlip(padding=-1), "padding must be at least 0"),
        (lambda: CropAndFlip(flip_probability=1.5), "flip_probability must be from 0 to 1"),
        (lambda: RandomResizedCropAndFlip(scale=(0.5, 0.2)), "two ascending shares"),
        (lambda: RandomResizedCropAndFlip(scale=(0.0, 1.0)), "two ascending shares"),
        (lambda: RandomResizedCropAndFlip(ratio=(2.0, 1.0)), "two ascending positive numbers"),
        (lambda: RandomResizedCropAndFlip(flip_probability=-0.1), "flip_probability must be from 0 to 1"),
    ],
)
def test_wrong_settings_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
