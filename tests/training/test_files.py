import json
from pathlib import Path

import pytest

from headgrid.training import files


def test_json_lines_come_back(tmp_path: Path):
    path = tmp_path / "rows.jsonl"
    rows = [{"epoch": epoch, "loss": 1 / (epoch + 3)} for epoch in range(4)]
    for row in rows:
        files.append_row(path, row)
    assert files.read_rows(path) == rows
    assert files.read_rows(tmp_path / "absent.jsonl") == []


def test_an_unfinished_line_is_no_row_and_is_removed(tmp_path: Path):
    path = tmp_path / "rows.jsonl"
    files.append_row(path, {"epoch": 1})
    whole = path.read_bytes()
    for end in (b'{"epo', b'{"epoch": 2}'):
        path.write_bytes(whole + end)
        assert files.read_rows(path) == [{"epoch": 1}]
        files.keep_rows(path, lambda row: True)
        assert path.read_bytes() == whole


def test_kept_rows_stay_byte_by_byte(tmp_path: Path):
    path = tmp_path / "rows.jsonl"
    lines = [b'{"epoch":1,  "loss": 0.10}\n', b'{"epoch": 2}\n', b'{"epoch": 3}\n']
    path.write_bytes(b"".join(lines))
    files.keep_rows(path, lambda row: row["epoch"] < 3)
    assert path.read_bytes() == lines[0] + lines[1]
    files.keep_rows(tmp_path / "absent.jsonl", lambda row: False)
    assert not (tmp_path / "absent.jsonl").exists()


def test_damage_is_named_by_line(tmp_path: Path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"epoch": 1}\nnonsense\n')
    with pytest.raises(ValueError, match="line 2 is damaged"):
        files.read_rows(path)
    with pytest.raises(ValueError, match="is damaged"):
        files.read_json(path)


def test_what_is_no_json_is_never_written(tmp_path: Path):
    with pytest.raises(ValueError, match="JSON"):
        files.append_row(tmp_path / "rows.jsonl", {"loss": float("nan")})
    assert not (tmp_path / "rows.jsonl").exists()


def test_a_file_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "value.json"
    files.write_json(path, [1])

    def fail(*arguments: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(files.os, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        files.write_json(path, [2])
    assert json.loads(path.read_text()) == [1]
    assert len(list(tmp_path.iterdir())) == 2
    files.remove_leftovers(tmp_path)
    assert list(tmp_path.iterdir()) == [path]
