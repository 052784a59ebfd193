"""Image folders: splits, exact batches from any number of workers, every bad state."""

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
from made_images import as_bytes, shorten, small, to_tensor, write_images
from PIL import Image

from headgrid.data import CropAndFlip, ImageFolder, NoAugmentation, RandomResizedCropAndFlip
from headgrid.data.batch_plan import SampledOrder
from headgrid.data.image_folder import _default_num_workers


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


def test_a_folder_that_is_not_here_is_looked_for_where_data_lies(directory, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path.parent)
    monkeypatch.setenv("HEADGRID_DATA", str(directory.parent))
    assert ImageFolder(Path(directory.name)).class_names == ("cats", "dogs")
    with pytest.raises(ValueError, match=r"there is no folder .*elsewhere.train"):
        ImageFolder(Path("elsewhere")).load()


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


def test_a_sample_to_evaluate_on(directory):
    dataset = small(directory).load()
    images, labels = next(dataset.evaluation_batches("train", 30).epoch())
    some = dataset.evaluation_batches("train", 3, sample=10)
    indices = SampledOrder(labels, 10).indices()
    assert some.num_images == 10
    assert equal(list(zip(*some, strict=True)), [images[indices].split(3), labels[indices].split(3)])


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


# Bad data


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
