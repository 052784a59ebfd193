"""CIFAR with few images, in both layouts, as a release that no server offers."""

import pickle
import struct
from dataclasses import replace

import numpy as np
import torch

from headgrid.data import NoAugmentation
from headgrid.data.cifar_files import load_cifar
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
