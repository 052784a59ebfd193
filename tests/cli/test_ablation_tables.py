import json

from headgrid.experiments import ABLATIONS

from .conftest import Headgrid


def test_tables_for_people(headgrid: Headgrid):
    ended = headgrid("presets", "--ablations")
    assert (ended.code, ended.err) == (0, "")
    words = [line.split()[0] for line in ended.out.splitlines() if line]
    for name, ablation in ABLATIONS.items():
        start = words.index(f"{name}:")
        expected = ["name", *(row.name for row in ablation.rows)]
        assert words[start + 1 : start + 1 + len(expected)] == expected
    assert "10,567,896     10.6 M  2.508 G      2.5 G" in ended.out
    assert "…" not in ended.out


def test_json_of_the_tables_and_nothing_else(headgrid: Headgrid):
    tables = json.loads(headgrid("presets", "--ablations", "--json").out)
    assert [table["name"] for table in tables] == list(ABLATIONS)
    rows = {row["name"]: row for table in tables for row in table["rows"]}
    row = rows["san10-patchwise-footprint-11"]
    assert row["published"] == {"top_1": 0.794, "top_5": 0.941, "mega_parameters": 13.8, "giga_flops": 2.3}
    assert row["num_parameters"] == 13_818_532
    assert rows["san10-pairwise-mapping-depth-3"]["published"] is None


def test_rows_are_shown_and_counted_by_name(headgrid: Headgrid):
    shown = headgrid("show", "san10-pairwise-hadamard", "--size", "tiny")
    assert shown.code == 0
    assert "kind: hadamard-product" in shown.out
    (cost,) = json.loads(headgrid("cost", "san10-patchwise-clique-product", "--size", "tiny", "--json").out)
    assert cost["num_unused_parameters"] == 0


def test_misspelt_rows(headgrid: Headgrid):
    ended = headgrid("show", "san10-pairwise-hadamrd")
    assert (ended.code, ended.out) == (2, "")
    assert "did you mean 'san10-pairwise-hadamard'?" in ended.err
