"""Both layouts of CIFAR, whole and damaged, and pickles that want to run something."""

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from made_cifar import (
    SMALL,
    SMALL_10,
    check_content,
    content,
    dump_as_python_2,
    load,
    write_binary,
    write_python,
)

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
