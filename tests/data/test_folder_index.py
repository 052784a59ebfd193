"""The list of a folder's images, remembered until the folder changes."""

import json
import os

import pytest
import torch
from made_images import write_images

from headgrid.data import folder_index
from headgrid.data.folder_index import read_index


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
