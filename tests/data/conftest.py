"""No test looks into the user's own data folders or cache, and none reaches beyond this machine."""

import pytest
from made_images import write_images


@pytest.fixture(autouse=True)
def data_places(tmp_path, monkeypatch):
    monkeypatch.delenv("HEADGRID_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def directory(tmp_path):
    """Two classes; 12 and 8 training images, 3 and 2 test images."""
    for split, counts in (("train", (12, 8)), ("test", (3, 2))):
        for name, num_images in zip(("cats", "dogs"), counts, strict=True):
            write_images(tmp_path / "photos" / split / name, num_images, seed=num_images)
    return tmp_path / "photos"
