"""CIFAR: the real one where it is, where it is looked for, and what is known without it."""

from pathlib import Path

import pytest
import torch
from made_cifar import NOWHERE, SMALL_10, load, write_binary

from headgrid.data import Cifar10, Cifar100, CropAndFlip
from headgrid.data.cifar_files import find_or_fetch
from headgrid.data.cifar_releases import CIFAR_10, CIFAR_100

# Real data


@pytest.fixture(scope="module")
def real(cifar_dir):
    return Cifar10(directory=cifar_dir).load()


def test_real_cifar_10(real, cifar_dir):
    names = (cifar_dir / "cifar-10-batches-bin" / "batches.meta.txt").read_text().split()
    assert real.class_names == tuple(names)
    assert real.num_images == {"train": 45_000, "validation": 5_000, "test": 10_000}
    for split, count in (("train", 4500), ("validation", 500), ("test", 1000)):
        assert torch.bincount(real.splits[split].labels).tolist() == [count] * 10
    first = [real.class_names[label] for label in real.splits["test"].labels[:4].tolist()]
    assert first == ["cat", "ship", "ship", "airplane"]


def test_real_records_stand_where_the_layout_says(real, cifar_dir):
    record = 1234
    with (cifar_dir / "cifar-10-batches-bin" / "test_batch.bin").open("rb") as stream:
        stream.seek(record * 3073)
        label, *pixels = stream.read(3073)
    assert real.splits["test"].labels[record] == label
    row, column = 17, 5
    red, green, blue = (pixels[channel * 1024 + row * 32 + column] for channel in range(3))
    assert real.splits["test"].images[record, :, row, column].tolist() == [red, green, blue]


def test_real_pixels_are_normalised_to_about_zero(real):
    images, _ = next(iter(real.evaluation_batches("test", 2000)))
    assert images.mean((0, 2, 3)).abs().max() < 0.06
    # The usual standard deviations are means over images and so too small by a fifth.
    pixel_deviations = torch.tensor([0.247, 0.243, 0.262]) / torch.tensor(CIFAR_10.normalization.std)
    torch.testing.assert_close(images.std((0, 2, 3)), pixel_deviations, atol=0.02, rtol=0)


def test_the_validation_images_are_no_training_images(real, cifar_dir):
    everything = Cifar10(directory=cifar_dir, num_validation=0).load()
    assert everything.num_images == {"train": 50_000, "validation": 0, "test": 10_000}

    def images(dataset, split):
        return {image.tobytes() for image in dataset.splits[split].images.numpy()}

    train, validation = images(real, "train"), images(real, "validation")
    assert train | validation == images(everything, "train")
    assert len(train & validation) == 0


# Where it is looked for


def test_places_come_in_order(tmp_path, monkeypatch):
    given, environment, cache = tmp_path / "given", tmp_path / "environment", tmp_path / "cache" / "headgrid"
    monkeypatch.setenv("HEADGRID_DATA", str(environment))
    given.mkdir()
    for place in (cache, environment, given):
        write_binary(SMALL_10, place / "cifar-10-batches-bin")
        assert find_or_fetch(SMALL_10, given)[0] == place / "cifar-10-batches-bin"
    assert find_or_fetch(SMALL_10, None)[0] == environment / "cifar-10-batches-bin"
    monkeypatch.delenv("HEADGRID_DATA")
    assert find_or_fetch(SMALL_10, None)[0] == cache / "cifar-10-batches-bin"


def test_home_is_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write_binary(SMALL_10, tmp_path / "data" / "cifar-10-batches-bin")
    assert find_or_fetch(SMALL_10, Path("~/data"))[0] == tmp_path / "data" / "cifar-10-batches-bin"


def test_absent_and_out_of_reach_says_where_to_put_it(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADGRID_DATA", str(tmp_path / "environment"))
    (tmp_path / "given").mkdir()
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the parts are checked below)
        load(SMALL_10, tmp_path / "given")
    message = str(caught.value)
    for part in ("given", "environment", "cache/headgrid"):
        assert str(tmp_path / part) in message
    for part in (NOWHERE, "CIFAR-10", "cifar-10-batches-bin or cifar-10-batches-py", "--data-dir"):
        assert part in message
    assert "\n" not in message


def test_a_folder_that_is_not_there_is_named_and_not_made(tmp_path):
    with pytest.raises(ValueError, match=r"there is no folder .*typo; name one that holds cifar-10-batches-bin or"):
        load(SMALL_10, tmp_path / "typo")
    assert not (tmp_path / "typo").exists()


# Configs


@pytest.mark.parametrize(("config", "num_classes"), [(Cifar10(), 10), (Cifar100(), 100)])
def test_configs_know_the_data_without_loading(config, num_classes):
    assert config.num_classes == num_classes == len(config.class_names) == len(set(config.class_names))
    assert config.image_size == (32, 32)
    assert config.num_channels == 3
    assert config.augmentation == CropAndFlip(padding=4, flip_probability=0.5)
    assert config.num_validation == 5000


def test_classes_of_cifar_100_are_in_the_order_of_the_alphabet():
    assert list(CIFAR_100.class_names) == sorted(CIFAR_100.class_names)
