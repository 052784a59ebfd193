"""Image folders: what is found, how it is decoded, exact batches from any number of workers, every bad state."""

import io
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw
from PIL.JpegImagePlugin import JpegImageFile

from headgrid.data import CropAndFlip, ImageFolder, NoAugmentation, RandomResizedCropAndFlip, folder_index
from headgrid.data.folder_index import read_index
from headgrid.data.image_folder import _default_num_workers

SIZES = [(40, 30), (30, 40), (64, 20), (20, 64), (35, 35)]
"""Columns and rows of the made images."""


def write_images(folder, num_images, seed):
    folder.mkdir(parents=True)
    numbers = np.random.default_rng(seed)
    for number in range(num_images):
        columns, rows = SIZES[number % len(SIZES)]
        pixels = numbers.integers(0, 256, (rows, columns, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number:03}.png")


@pytest.fixture
def directory(tmp_path):
    """Two classes; 12 and 8 training images, 3 and 2 test images."""
    for split, counts in (("train", (12, 8)), ("test", (3, 2))):
        for name, num_images in zip(("cats", "dogs"), counts, strict=True):
            write_images(tmp_path / "photos" / split / name, num_images, seed=num_images)
    return tmp_path / "photos"


def small(directory, **changes):
    return ImageFolder(directory, **{"image_size": (12, 16), "num_workers": 0} | changes)


def equal(left, right):
    return len(left) == len(right) and all(
        torch.equal(a, b) for x, y in zip(left, right, strict=True) for a, b in zip(x, y, strict=True)
    )


# Splits


def test_validation_is_put_aside_where_there_is_no_such_folder(directory):
    dataset = small(directory, validation_fraction=0.25).load()
    assert dataset.name == "photos"
    assert dataset.class_names == ("cats", "dogs")
    assert dataset.image_size == (12, 16)
    assert dataset.num_images == {"train": 15, "validation": 5, "test": 5}
    assert torch.bincount(dataset.splits["validation"].labels).tolist() == [3, 2]
    files = [set(dataset.splits[split].files) for split in ("train", "validation")]
    assert not files[0] & files[1]
    assert len(files[0] | files[1]) == 20


@pytest.mark.parametrize("name", ["val", "validation"])
def test_a_folder_for_validation_is_taken(directory, name):
    (directory / "test").rename(directory / name)
    dataset = small(directory).load()
    assert dataset.num_images == {"train": 20, "validation": 5, "test": 0}
    with pytest.raises(ValueError, match="data set photos has no test images, only: train, validation"):
        dataset.evaluation_batches("test", 2)


def test_all_three_folders(directory):
    for name in ("cats", "dogs"):
        write_images(directory / "val" / name, 1, seed=0)
    assert small(directory).load().num_images == {"train": 20, "validation": 2, "test": 5}


def test_classes_are_known_without_loading(directory):
    config = small(directory)
    assert config.num_classes == 2
    assert config.class_names == ("cats", "dogs")
    assert config.image_size == (12, 16)
    assert config.num_channels == 3


# Decoding


def as_bytes(dataset, images):
    return dataset.normalization.undo(images)


def decoded(dataset, split="test"):
    return torch.cat([as_bytes(dataset, images) for images, _ in dataset.evaluation_batches(split, 3)])


def to_tensor(image):
    return torch.from_numpy(np.array(image.convert("RGB"))).permute(2, 0, 1)


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


def photo(columns, rows):
    """Something like a photograph: soft colours with sharp figures on them."""
    row, column = np.mgrid[:rows, :columns]
    waves = [127 + 100 * np.sin(row / (31 + 11 * c) + column / (47 - 9 * c)) for c in range(3)]
    image = Image.fromarray(np.stack(waves, axis=-1).astype(np.uint8))
    draw = ImageDraw.Draw(image)
    for number in range(12):
        draw.ellipse(
            (number * 45, number * 30, number * 45 + 100, number * 30 + 60), outline=(255, 255, 0), width=5
        )
    return image


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


# Batches


@pytest.mark.parametrize(
    "augmentation",
    [RandomResizedCropAndFlip(), CropAndFlip(2), NoAugmentation()],
    ids=lambda kind: type(kind).__name__,
)
def test_batches_do_not_depend_on_workers_start_or_processes(directory, augmentation):
    def batches(num_workers, batch_size=4, rank=0, world_size=1):
        dataset = small(directory, augmentation=augmentation, num_workers=num_workers).load()
        return dataset.training_batches(batch_size, 5, "cpu", rank, world_size)

    alone = batches(0)
    whole = list(alone.epoch(1))
    assert len(alone) == len(whole) == 5
    assert alone.num_images == 18
    assert not equal(whole, list(alone.epoch(0)))
    assert equal(list(batches(2).epoch(1)), whole)
    for first in range(6):
        assert equal(list(batches(0).epoch(1, first)), whole[first:])
    assert equal(list(batches(1).epoch(1, 3)), whole[3:])
    shares = [batches(0, 2, rank, 2).epoch(1) for rank in range(2)]
    together = [tuple(map(torch.cat, zip(*parts, strict=True))) for parts in zip(*shares, strict=True)]
    assert equal(together, whole)


def test_labels_belong_to_their_images(tmp_path):
    for split in ("train", "test"):
        for grey, name in ((50, "dark"), (200, "light")):
            (tmp_path / split / name).mkdir(parents=True)
            for number in range(6):
                Image.new("RGB", (20, 20), (grey, grey, grey)).save(tmp_path / split / name / f"{number}.png")
    dataset = small(tmp_path).load()
    for images, labels in dataset.training_batches(3, seed=0):
        brightness = as_bytes(dataset, images).double().mean((1, 2, 3))
        assert torch.equal(labels, (brightness > 100).long())
        assert labels.dtype == torch.int64


def test_no_generator_is_touched_and_no_worker_is_left(directory):
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].tolist()
    dataset = small(directory, num_workers=2).load()
    assert len(list(dataset.training_batches(4, seed=0))) == 5
    assert not multiprocessing.active_children()

    batches = dataset.evaluation_batches("train", 2).epoch()
    next(batches)
    assert len(multiprocessing.active_children()) == 2
    del batches  # as a loop does that is left early
    assert not multiprocessing.active_children()

    assert torch.equal(torch.get_rng_state(), torch_state)
    assert np.random.get_state()[1].tolist() == numpy_state


LOAD_FOREVER = """
import multiprocessing, sys
from pathlib import Path
from headgrid.data import ImageFolder

if __name__ == "__main__":
    dataset = ImageFolder(Path(sys.argv[1]), image_size=(12, 16), num_workers=2).load()
    for epoch in range(1000):
        batches = dataset.training_batches(2, seed=0).epoch(epoch)
        next(batches)
        print(*(child.pid for child in multiprocessing.active_children()), flush=True)
        sys.stdin.readline()
"""


@pytest.mark.slow
def test_workers_of_a_killed_process_end_by_themselves(directory, tmp_path):
    script = tmp_path / "load_forever.py"
    script.write_text(LOAD_FOREVER)
    command = [sys.executable, str(script), str(directory)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        workers = [int(number) for number in process.stdout.readline().split()]
        assert len(workers) == 2
        process.send_signal(signal.SIGKILL)
        process.wait()
    deadline = time.monotonic() + 60
    while any(_runs(worker) for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.2)


def _runs(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")  # a process that ended may wait for somebody to collect it
    return not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def test_an_error_ends_the_workers(directory):
    (directory / "test" / "cats" / "001.png").write_bytes(b"no image")
    dataset = small(directory, num_workers=2).load()
    with pytest.raises(ValueError, match=r"cats/001\.png cannot be read as an image") as caught:
        list(dataset.evaluation_batches("test", 2))
    assert "\n" not in str(caught.value)
    del caught
    assert not multiprocessing.active_children()


def test_workers_by_default(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(6)), raising=False)
    assert _default_num_workers() == 6
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert _default_num_workers() == 1
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(96)), raising=False)
    assert _default_num_workers() == 8


# The cached index


@pytest.fixture
def num_listings(monkeypatch):
    """How often a folder was really listed; changes count as settled at once."""
    listed = []
    original = folder_index._list
    monkeypatch.setattr(folder_index, "_list", lambda *arguments: listed.append(1) or original(*arguments))
    monkeypatch.setattr(folder_index, "SECONDS_TO_SETTLE", -10.0)
    return listed


def test_the_index_is_remembered_until_the_folder_changes(directory, num_listings, tmp_path):
    train = directory / "train"
    first = read_index(train)
    assert first.class_names == ("cats", "dogs")
    assert [os.path.relpath(file, train) for file in first.files[:2]] == ["cats/000.png", "cats/001.png"]
    assert torch.bincount(first.labels).tolist() == [12, 8]
    assert len(num_listings) == 1
    again = read_index(train)
    assert again.files == first.files
    assert len(num_listings) == 1

    def changed():
        before = len(num_listings)
        index = read_index(train)
        assert len(num_listings) == before + 1
        return len(index.files)

    (train / "dogs" / "007.png").unlink()
    assert changed() == 19
    (train / "dogs" / "000.png").rename(train / "dogs" / "new.png")
    assert changed() == 19
    write_images(train / "birds", 2, seed=0)
    assert changed() == 21
    (cache_file,) = (tmp_path / "cache" / "headgrid" / "image-folders").iterdir()
    cache_file.write_text("{damaged")
    assert changed() == 21
    cache_file.write_text(json.dumps(["something", "else"]))
    assert changed() == 21


def test_a_folder_that_just_changed_is_not_remembered(directory, num_listings, monkeypatch):
    monkeypatch.setattr(folder_index, "SECONDS_TO_SETTLE", 1000.0)
    read_index(directory / "train")
    read_index(directory / "train")
    assert len(num_listings) == 2


def test_a_cache_that_cannot_be_written_is_done_without(directory, num_listings, tmp_path):
    (tmp_path / "cache").write_text("a file where a folder should be")
    assert len(read_index(directory / "train").files) == 20


def test_only_images_count(directory, num_listings):
    for name in ("notes.txt", ".hidden.png", "Thumbs.db"):
        (directory / "train" / "cats" / name).touch()
    (directory / "train" / "cats" / "003.png").rename(directory / "train" / "cats" / "003.PNG")
    (directory / "train" / ".cache").mkdir()
    (directory / "train" / "list.csv").touch()
    assert len(read_index(directory / "train").files) == 20


# Bad data


def shorten(file):
    content = io.BytesIO()
    photo(300, 200).save(content, "JPEG")
    file.write_bytes(content.getvalue()[:3000])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda d: (d / "test" / "cats" / "000.png").write_bytes(b""), r"cats/000\.png cannot be read as an image"),
        (lambda d: shorten(d / "test" / "cats" / "000.png"), r"cats/000\.png cannot be read .*truncated"),
        (lambda d: (d / "test").rename(d / "tests"), "photos holds neither a folder val nor a folder test"),
        (
            lambda d: (d / "train").rename(d / "training"),
            r"there is no folder .*photos/train; an image folder holds",
        ),
        (lambda d: d.rename(d.with_name("x")), r"there is no folder .*photos/train"),
        (lambda d: (d / "train" / "empty").mkdir(), r"class folder .*train/empty holds no image"),
        (
            lambda d: write_images(d / "train" / "birds", 1, 0),
            r"photos/test lacks the class folder birds; all splits must hold the same classes",
        ),
        (lambda d: write_images(d / "test" / "birds", 1, 0), r"photos/train lacks the class folder birds"),
        (lambda d: (d / "train" / "dogs").rename(d / "dogs"), r"photos/train holds 1 class folders"),
        (
            lambda d: [write_images(d / name / "cats", 1, 0) for name in ("val", "validation")],
            "holds both val and validation",
        ),
    ],
)
def test_bad_folders_are_named_in_one_sentence(directory, spoil, message):
    spoil(directory)
    with pytest.raises(ValueError, match=message) as caught:
        list(small(directory).load().evaluation_batches("test", 2))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"image_size": (0, 4)}, "image_size must be at least"),
        ({"crop_fraction": 1.5}, "crop_fraction must be from"),
        ({"validation_fraction": 1.0}, "validation_fraction must be from"),
        ({"num_workers": -1}, "num_workers must be at least 0"),
    ],
)
def test_wrong_settings_are_refused(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        small(tmp_path, **changes)


# Real data


def test_intel_scenes(scenes_dir):
    dataset = ImageFolder(scenes_dir, image_size=(64, 64), crop_fraction=1.0, num_workers=2).load()
    assert dataset.class_names == ("buildings", "forest", "glacier", "mountain", "sea", "street")
    assert dataset.num_images == {"train": 12_631, "validation": 1_403, "test": 3_000}
    shares = [torch.bincount(data.labels) / len(data.labels) for data in dataset.splits.values()]
    assert (shares[0] - shares[1]).abs().max() < 0.001
    images, labels = next(dataset.evaluation_batches("test", 100).epoch())
    assert images.shape == (100, 3, 64, 64)
    assert labels.tolist() == [0] * 100
    expected = to_tensor(Image.open(dataset.splits["test"].files[17]))
    assert torch.equal(as_bytes(dataset, images)[17], expected)
    images, labels = next(dataset.training_batches(100, seed=0).epoch())
    assert len(labels.unique()) == 6
    assert images.isfinite().all()
    assert not multiprocessing.active_children()
