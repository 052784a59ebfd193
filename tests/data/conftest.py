"""No test looks into the user's own data folders or cache, and none reaches beyond this machine."""

import pytest


@pytest.fixture(autouse=True)
def data_places(tmp_path, monkeypatch):
    monkeypatch.delenv("HEADGRID_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
