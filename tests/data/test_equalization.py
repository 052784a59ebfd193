"""Histogram equalisation against Pillow and against loops; the data sets that offer it."""

import numpy as np
import pytest
import torch
from made_cifar import SMALL_10, load, write_binary
from made_images import decoded, photo, small, to_tensor
from PIL import Image, ImageOps

from headgrid.data import (
    ChannelEqualization,
    CropAndFlip,
    LuminanceEqualization,
    NoEqualization,
    RandomResizedCropAndFlip,
)
from headgrid.data.equalization import IMAGES_AT_ONCE, equalize, luminance

KINDS = [NoEqualization(), ChannelEqualization(), LuminanceEqualization()]


def random_images(num_images: int, rows: int, columns: int, levels: int = 256) -> torch.Tensor:
    random = torch.Generator().manual_seed(rows + columns + levels)
    return torch.randint(levels, (num_images, 3, rows, columns), generator=random).to(torch.uint8)


def pictures() -> list[torch.Tensor]:
    """Noise, a photograph, few levels, and sizes at which Pillow rounds in different ways."""
    shapes = [(20, 30), (16, 16), (15, 17), (16, 17), (40, 51), (64, 48), (1, 300)]
    made = [random_images(3, rows, columns, levels) for rows, columns in shapes for levels in (256, 40, 2)]
    soft = to_tensor(photo(90, 70))[None]
    dark = (soft // 5).clamp(max=40)
    return [*made, soft, dark, torch.full((1, 3, 20, 21), 7, dtype=torch.uint8)]


@pytest.mark.parametrize("images", pictures(), ids=lambda images: str(tuple(images.shape)))
def test_channels_are_equalised_as_by_pillow(images):
    expected = [
        to_tensor(ImageOps.equalize(Image.fromarray(image.permute(1, 2, 0).contiguous().numpy())))
        for image in images
    ]
    assert torch.equal(ChannelEqualization().apply(images), torch.stack(expected))


def test_a_level_becomes_the_share_of_darker_pixels():
    """By loops, up to the rounding of 16.4 pixels to steps of 16."""
    images = random_images(2, 60, 70, 200)
    found = equalize(images)
    for image, result in zip(images.flatten(0, 1), found.flatten(0, 1), strict=True):
        values = image.flatten().tolist()
        brightest = max(values)
        step = (len(values) - values.count(brightest)) / 255
        for level in sorted(set(values)):
            (mapped,) = set(result[image == level].tolist())
            darker = sum(value < level for value in values)
            assert mapped == pytest.approx(min(255, darker / step * 16.4 / 16), abs=2)
    assert found.flatten(2).amin(2).max() <= 1
    assert found.flatten(2).amax(2).min() == 255


def test_luminance_alone_keeps_the_differences_of_colours():
    soft = to_tensor(photo(90, 70))[None].float()
    images = (90 + soft / 4).to(torch.uint8)
    equalised = LuminanceEqualization().apply(images)
    before, after = luminance(images).float(), luminance(equalised).float()
    assert after.std() > 2 * before.std()
    unclipped = ((equalised > 0) & (equalised < 255)).all(dim=1)
    assert unclipped.float().mean() > 0.5
    for one, other in ((0, 1), (1, 2)):
        differences = [(of[:, one].int() - of[:, other].int())[unclipped] for of in (images, equalised)]
        assert torch.equal(*differences)


def test_luminance_by_loops():
    images = random_images(1, 5, 7)
    expected = [
        [
            round(0.299 * int(red) + 0.587 * int(green) + 0.114 * int(blue))
            for red, green, blue in zip(*rows, strict=True)
        ]
        for rows in zip(*images[0], strict=True)
    ]
    assert luminance(images)[0, 0].tolist() == expected


def test_grey_images_have_one_channel_that_is_their_luminance():
    images = random_images(2, 30, 20)[:, :1]
    assert torch.equal(luminance(images), images)
    assert torch.equal(LuminanceEqualization().apply(images), ChannelEqualization().apply(images))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)
def test_an_image_does_not_depend_on_those_beside_it(kind):
    images = random_images(IMAGES_AT_ONCE + 3, 16, 18)
    together = kind.apply(images)
    assert together.dtype == torch.uint8
    assert together.shape == images.shape
    for number in (0, IMAGES_AT_ONCE - 1, IMAGES_AT_ONCE, IMAGES_AT_ONCE + 2):
        assert torch.equal(kind.apply(images[number : number + 1])[0], together[number])
    assert torch.equal(kind.apply(images), together)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)
def test_a_set_in_memory_is_equalised_in_all_its_splits(tmp_path, kind):
    write_binary(SMALL_10, tmp_path / "cifar-10-batches-bin")
    plain = load(SMALL_10, tmp_path, num_validation=10)
    found = plain.equalized(kind)
    for split in ("train", "validation", "test"):
        assert torch.equal(found.splits[split].images, kind.apply(plain.splits[split].images))
        assert torch.equal(found.splits[split].labels, plain.splits[split].labels)
    assert (found.name, found.class_names, found.normalization) == (
        plain.name,
        plain.class_names,
        plain.normalization,
    )


@pytest.mark.parametrize("augmentation", [CropAndFlip(2), RandomResizedCropAndFlip()])
@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_folder_is_equalised_image_by_image_when_cut_out(directory, augmentation, num_workers):
    options = {"num_workers": num_workers, "augmentation": augmentation, "image_size": (24, 20)}
    plain, equalised = (
        small(directory, equalization=kind, **options).load() for kind in (NoEqualization(), ChannelEqualization())
    )
    assert torch.equal(decoded(equalised), ChannelEqualization().apply(decoded(plain)))
    assert torch.equal(decoded(equalised, "validation"), ChannelEqualization().apply(decoded(plain, "validation")))
    if isinstance(augmentation, RandomResizedCropAndFlip):
        batches = [
            dataset.normalization.undo(next(iter(dataset.training_batches(5, seed=0)))[0])
            for dataset in (plain, equalised)
        ]
        assert torch.equal(batches[1], ChannelEqualization().apply(batches[0]))


def test_crops_of_a_folder_come_after_it(directory):
    """The black border that a shifted crop brings in is no part of the histogram."""
    equalised, plain = (
        small(directory, equalization=kind, augmentation=CropAndFlip(4), image_size=(24, 20)).load()
        for kind in (ChannelEqualization(), NoEqualization())
    )
    batch = equalised.normalization.undo(next(iter(equalised.training_batches(5, seed=0)))[0])
    after = ChannelEqualization().apply(plain.normalization.undo(next(iter(plain.training_batches(5, seed=0)))[0]))
    assert not torch.equal(batch, after)
    assert np.mean([(one == 0).float().mean() > 0.05 for one in batch]) > 0
