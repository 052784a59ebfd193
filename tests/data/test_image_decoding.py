"""What evaluation and training see of an image file."""

import numpy as np
import pytest
import torch
from made_images import as_bytes, decoded, photo, small, to_tensor, write_images
from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile

from headgrid.data import NoAugmentation, RandomResizedCropAndFlip


def test_evaluation_resizes_the_tight_side_and_cuts_out_the_center(directory):
    dataset = small(directory, crop_fraction=0.8).load()
    for file, image in zip(dataset.splits["test"].files, decoded(dataset), strict=True):
        original = Image.open(file)
        # 12 x 16 of 15 x 20: the side that is tighter for its crop becomes exactly 15 rows or 20 columns.
        if original.height / 15 < original.width / 20:
            rows, columns = 15, int(15 * original.width / original.height)
        else:
            rows, columns = int(20 * original.height / original.width), 20
        resized = original.resize((columns, rows), Image.Resampling.BILINEAR)
        top, left = round((rows - 12) / 2), round((columns - 16) / 2)
        assert torch.equal(image, to_tensor(resized.crop((left, top, left + 16, top + 12))))


def test_images_of_the_wanted_size_come_as_they_are(tmp_path):
    for split in ("train", "test"):
        for name in ("a", "b"):
            write_images(tmp_path / split / name, 1, seed=len(split + name))
    rows, columns = 30, 40
    dataset = small(tmp_path, image_size=(rows, columns), crop_fraction=1.0, validation_fraction=0.0).load()
    originals = []
    for number, file in enumerate(dataset.splits["test"].files):
        pixels = np.random.default_rng(number).integers(0, 256, (rows, columns, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(file)
        originals.append(torch.from_numpy(pixels).permute(2, 0, 1))
    assert torch.equal(decoded(dataset), torch.stack(originals))


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "LA", "CMYK", "1", "I;16"])
def test_every_kind_of_image_becomes_rgb(directory, mode):
    file = directory / "test" / "cats" / "000.png"
    name = file.with_suffix(".tif") if mode == "CMYK" else file
    file.unlink()
    picture = Image.new(mode, (30, 30))
    picture.save(name)
    assert decoded(small(directory).load())[0].shape == (3, 12, 16)


@pytest.mark.parametrize("augmentation", [NoAugmentation(), RandomResizedCropAndFlip()])
def test_large_jpegs_are_decoded_small_and_look_the_same(tmp_path, monkeypatch, augmentation):
    for split in ("train", "test"):
        for name in ("a", "b"):
            (tmp_path / split / name).mkdir(parents=True)
            photo(603, 451).save(tmp_path / split / name / "0.jpg", quality=95)
            photo(401, 801).save(tmp_path / split / name / "1.jpg", quality=95)
    dataset = small(tmp_path, image_size=(48, 64), validation_fraction=0.0, augmentation=augmentation).load()

    def pictures():
        batches = dataset.training_batches(2, seed=0)
        return torch.cat([as_bytes(dataset, images) for epoch in range(2) for images, _ in batches.epoch(epoch)])

    drafts = []
    draft = JpegImageFile.draft
    with monkeypatch.context() as patch:
        patch.setattr(JpegImageFile, "draft", lambda *arguments: drafts.append(1) or draft(*arguments))
        fast = pictures()
    assert drafts  # the short way was taken
    with monkeypatch.context() as patch:
        patch.setattr("headgrid.data.image_decoding.DRAFT_MARGIN", float("inf"))
        exact = pictures()
    difference = (fast.int() - exact.int()).abs().float()
    assert difference.mean() < 1.5
    assert difference.amax((1, 2, 3)).max() < 60


def test_random_windows_are_parts_of_the_image(tmp_path):
    """Red grows with the row and green with the column, so a crop shows where it comes from."""
    rows, columns = np.mgrid[:200, :250]
    pixels = np.stack([rows, columns, np.zeros_like(rows)], axis=-1).astype(np.uint8)
    for split in ("train", "test"):
        for name in ("a", "b"):
            (tmp_path / split / name).mkdir(parents=True)
            Image.fromarray(pixels).save(tmp_path / split / name / "0.png")
    augmentation = RandomResizedCropAndFlip(scale=(0.1, 0.3))
    dataset = small(tmp_path, augmentation=augmentation, validation_fraction=0.0).load()
    batches = dataset.training_batches(2, seed=0)
    mirrored, shares = [], []
    for epoch in range(60):
        ((images, _),) = batches.epoch(epoch)
        for red, green, _ in as_bytes(dataset, images).double():
            assert (red[1:] > red[:-1]).all()
            across = green[:, 1:] - green[:, :-1]
            assert (across > 0).all() or (across < 0).all()
            mirrored.append(bool((across < 0).all()))
            # A window of 12 x 16 pixels spans 12/11 and 16/15 of the distance between its outer pixels.
            height, width = red[-1, 0] - red[0, 0], abs(green[0, -1] - green[0, 0])
            shares.append(float(height * 12 / 11 * width * 16 / 15 / (200 * 250)))
    assert 35 < sum(mirrored) < 85
    assert 0.08 < min(shares) < 0.13
    assert 0.25 < max(shares) < 0.32
