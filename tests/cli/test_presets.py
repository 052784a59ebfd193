import json

from headgrid.experiments import PRESETS

from .conftest import Headgrid


def test_a_table_for_people(headgrid: Headgrid):
    ended = headgrid("presets")
    assert ended.code == 0
    assert ended.err == ""
    lines = ended.out.splitlines()
    assert lines[0].split()[0] == "name"
    assert [line.split()[0] for line in lines[1 : len(PRESETS) + 1]] == list(PRESETS)
    assert "12,086,844" in ended.out
    assert "0.938" in ended.out


def test_json_and_nothing_else(headgrid: Headgrid):
    rows = json.loads(headgrid("presets", "--json").out)
    assert [row["name"] for row in rows] == list(PRESETS)
    assert {row["name"]: row["num_parameters"] for row in rows}["learned-content-16-heads"] == 26_459_754
    assert {row["name"]: row["paper_accuracy"] for row in rows}["learned-query"] is None
