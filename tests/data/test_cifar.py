"""CIFAR from its files: the real ones where they are, and small made ones in every layout and every bad state."""

import pickle
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from headgrid.data import Cifar10, Cifar100, CropAndFlip, NoAugmentation
from headgrid.data.cifar_files import find_or_fetch, load_cifar
from headgrid.data.cifar_releases import CIFAR_10, CIFAR_100

NOWHERE = "http://127.0.0.1:1/gone.tar.gz"
SMALL_10 = replace(CIFAR_10, num_train=50, num_test=20, remote=replace(CIFAR_10.remote, url=NOWHERE))
SMALL_100 = replace(CIFAR_100, num_train=200, num_test=100, remote=replace(CIFAR_100.remote, url=NOWHERE))
SMALL = [SMALL_10, SMALL_100]


def content(release, num_images, seed):
    """Pixels (n, 3072) and labels, every class equally often."""
    numbers = np.random.default_rng(seed)
    pixels = numbers.integers(0, 256, (num_images, 3072), dtype=np.uint8)
    return pixels, np.arange(num_images) % len(release.class_names)


def split_over(release, layout):
    """File name -> its pixels and labels."""
    files = {}
    for names, num_images, seed in (
        (layout.train_files, release.num_train, 0),
        (layout.test_files, release.num_test, 1),
    ):
        pixels, labels = content(release, num_images, seed)
        for name, rows, numbers in zip(
            names, np.split(pixels, len(names)), np.split(labels, len(names)), strict=True
        ):
            files[name] = (rows, numbers)
    return files


def write_binary(release, folder):
    folder.mkdir(parents=True)
    layout = release.layouts[0]
    for name, (pixels, labels) in split_over(release, layout).items():
        coarse = np.full((len(labels), layout.num_label_bytes - 1), 7)
        np.hstack([coarse, labels[:, None], pixels]).astype(np.uint8).tofile(folder / name)


def write_python(release, folder, dump=lambda content: pickle.dumps(content, protocol=2)):
    folder.mkdir(parents=True)
    layout = release.layouts[1]
    for name, (pixels, labels) in split_over(release, layout).items():
        (folder / name).write_bytes(dump({b"data": pixels, layout.label_key: labels.tolist()}))


def dump_as_python_2(content):
    """What Python 2 wrote, assembled by hand: old module name of numpy, byte strings as keys and as pixels."""

    def string(text):
        return b"T" + struct.pack("<i", len(text)) + text

    pixels = content.pop(b"data")
    ((key, labels),) = content.items()
    rows, columns = (b"J" + struct.pack("<i", size) for size in pixels.shape)
    kind = b"cnumpy\ndtype\n" + string(b"u1") + b"K\x00K\x01\x87R(K\x03" + string(b"|") + b"NNNJ\xff\xff\xff\xff"
    kind += b"J\xff\xff\xff\xffK\x00tb"
    array = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85" + string(b"b") + b"\x87R"
    array += b"(K\x01" + rows + columns + b"\x86" + kind + b"\x89" + string(pixels.tobytes()) + b"tb"
    numbers = b"](" + b"".join(b"K" + bytes([label]) for label in labels) + b"e"
    return b"\x80\x02}(" + string(b"data") + array + string(key) + numbers + b"u."


def load(release, directory=None, num_validation=0):
    return load_cifar(release, "small", directory, num_validation, NoAugmentation(), 0)


def check_content(release, dataset):
    for split, num_images, seed in (("train", release.num_train, 0), ("test", release.num_test, 1)):
        pixels, labels = content(release, num_images, seed)
        stored = dataset.splits[split]
        assert torch.equal(stored.images, torch.from_numpy(pixels).view(-1, 3, 32, 32))
        assert torch.equal(stored.labels, torch.from_numpy(labels))


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


# Layouts


@pytest.mark.parametrize("release", SMALL)
@pytest.mark.parametrize("inner", [True, False])
def test_binary_layout(tmp_path, release, inner):
    folder = tmp_path / release.layouts[0].folder if inner else tmp_path / "any-name"
    write_binary(release, folder)
    check_content(release, load(release, tmp_path if inner else folder))


@pytest.mark.parametrize("release", SMALL)
@pytest.mark.parametrize("inner", [True, False])
@pytest.mark.parametrize("dump", [lambda content: pickle.dumps(content, protocol=2), dump_as_python_2])
def test_python_layout(tmp_path, release, inner, dump):
    folder = tmp_path / release.layouts[1].folder if inner else tmp_path / "any-name"
    write_python(release, folder, dump)
    check_content(release, load(release, tmp_path if inner else folder))


def test_python_2_dump_means_what_it_should():
    pixels = np.arange(12, dtype=np.uint8).reshape(2, 6)
    dumped = dump_as_python_2({b"data": pixels, b"labels": [3, 4]})
    loaded = pickle.loads(dumped, encoding="bytes")
    assert loaded[b"labels"] == [3, 4]
    assert np.array_equal(loaded[b"data"], pixels)


def test_part_of_the_training_images_is_put_aside(tmp_path):
    write_binary(SMALL_10, tmp_path / "cifar-10-batches-bin")
    dataset = load(SMALL_10, tmp_path, num_validation=20)
    assert dataset.num_images == {"train": 30, "validation": 20, "test": 20}
    assert torch.bincount(dataset.splits["validation"].labels).tolist() == [2] * 10
    pixels = torch.from_numpy(content(SMALL_10, 50, 0)[0]).view(-1, 3, 32, 32)
    together = torch.cat([dataset.splits[split].images for split in ("train", "validation")])
    assert sorted(image.flatten().tolist() for image in together) == sorted(
        image.flatten().tolist() for image in pixels
    )
    with pytest.raises(ValueError, match="at most 40 can be put aside"):
        load(SMALL_10, tmp_path, num_validation=41)


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


# Bad data


def damaged(tmp_path, write, file, change):
    folder = tmp_path / "any-name"
    write(SMALL_10, folder)
    (folder / file).write_bytes(change((folder / file).read_bytes()))
    return folder


@pytest.mark.parametrize(
    ("write", "file", "change", "message"),
    [
        (
            write_binary,
            "data_batch_3.bin",
            lambda old: old[:-1],
            r"data_batch_3.bin has 30729 bytes, but 10 records",
        ),
        (
            write_binary,
            "data_batch_3.bin",
            lambda old: old[:-3073],
            "has 27657 bytes, but 10 records of 3073 bytes",
        ),
        (write_binary, "test_batch.bin", lambda old: b"", r"test_batch.bin has 0 bytes, but 20 records"),
        (write_binary, "data_batch_1.bin", lambda old: b"\x0a" + old[1:], "data_batch_1.bin has a label 10, but"),
        (
            write_python,
            "data_batch_2",
            lambda old: old[:1000],
            "data_batch_2 is no CIFAR file in the python layout",
        ),
        (write_python, "data_batch_2", lambda old: b"", "EOFError"),
        (write_python, "data_batch_2", lambda old: pickle.dumps([1, 2]), "is no CIFAR file in the python layout"),
        (write_python, "data_batch_2", lambda old: pickle.dumps({b"data": 1}), "the images are no array"),
        (
            write_python,
            "test_batch",
            lambda old: pickle.dumps({b"data": np.zeros((3, 3072), np.uint8), b"labels": [0] * 3}, 2),
            "test_batch holds 3 images and 3 labels instead of 20 of each",
        ),
        (
            write_python,
            "test_batch",
            lambda old: pickle.dumps({b"data": np.zeros((20, 3072), np.uint8), b"labels": [0] * 19}, 2),
            "holds 20 images and 19 labels instead of 20 of each",
        ),
        (
            write_python,
            "test_batch",
            lambda old: pickle.dumps({b"data": np.zeros((20, 3072), np.uint8), b"labels": [-1] * 20}, 2),
            "has a label -1, but the classes of CIFAR-10 count from 0 to 9",
        ),
        (
            write_python,
            "test_batch",
            lambda old: pickle.dumps({b"data": np.zeros((20, 3072), np.uint8), b"labels": [0.5] * 20}, 2),
            "the labels are no list of whole numbers",
        ),
        (
            write_python,
            "test_batch",
            lambda old: pickle.dumps({b"data": np.zeros((20, 3072), np.int8), b"labels": [0] * 20}, 2),
            "the images are no rows of 3072 bytes",
        ),
        (
            write_python,
            "test_batch",
            lambda old: pickle.dumps({b"data": np.zeros((3072, 20), np.uint8).T, b"labels": [0] * 20}, 2),
            "the images are no rows of 3072 bytes",
        ),
    ],
)
def test_damaged_files_are_named(tmp_path, write, file, change, message):
    folder = damaged(tmp_path, write, file, change)
    with pytest.raises(ValueError, match=message) as caught:
        load(SMALL_10, folder)
    assert str(folder / file) in str(caught.value)
    assert "\n" not in str(caught.value)


class Touch:
    """A pickle of this writes a file when it is loaded freely."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_cannot_run_anything(tmp_path, protocol):
    target = tmp_path / "touched"
    hostile = {b"data": Touch(target), b"labels": [0]}
    folder = damaged(tmp_path, write_python, "test_batch", lambda old: pickle.dumps(hostile, protocol))
    with pytest.raises(ValueError, match="which no CIFAR file needs"):
        load(SMALL_10, folder)
    assert not target.exists()
    pickle.loads(pickle.dumps(hostile, protocol))
    assert target.exists()  # so the file was dangerous


@pytest.mark.parametrize(
    "program",
    [
        b"cos\nsystem\n(S'true'\ntR.",
        b"cbuiltins\neval\n(S'1'\ntR.",
        b"cnumpy\nload\n(S'x'\ntR.",
        b"c_codecs\ndecode\n(S'x'\ntR.",
        b"c_codecs\nencode\n(X\x01\x00\x00\x00xX\x03\x00\x00\x00hextR.",
        b"cheadgrid.data.cifar_python_layout\n_PlainUnpickler\n.",
    ],
)
def test_no_other_name_can_be_called(tmp_path, program):
    folder = damaged(tmp_path, write_python, "test_batch", lambda old: program)
    with pytest.raises(ValueError, match=r"which no CIFAR file needs|encoded as hex instead of latin1"):
        load(SMALL_10, folder)


def test_missing_files_are_named(tmp_path):
    folder = tmp_path / "cifar-10-batches-bin"
    write_binary(SMALL_10, folder)
    (folder / "data_batch_4.bin").unlink()
    with pytest.raises(ValueError, match=r"cifar-10-batches-bin lacks data_batch_4\.bin"):
        load(SMALL_10, tmp_path)


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
