"""`headgrid study`: trains what is missing, leaves what is finished or somebody else's, and prints the table."""

import json
from dataclasses import replace

import pytest

from headgrid.cli import study as verb
from headgrid.cli.main import main
from headgrid.experiments import make_experiment, shorten
from headgrid.study import Study, StudyRow
from headgrid.training.lock import locked


@pytest.fixture
def small(monkeypatch) -> Study:
    base = shorten(make_experiment("quadratic", "tiny"), 1)
    base = replace(base, data=replace(base.data, num_train=100, num_validation=20, num_test=40))
    rows = tuple(StudyRow("group", name, replace(base, name=name)) for name in ("first", "second"))
    study = Study("small", "Is the second better?", rows)
    monkeypatch.setitem(verb.STUDIES, "small", study)
    return study


def test_trains_reports_and_repeats_nothing(small, tmp_path, capfd):
    runs, table, figure = tmp_path / "runs", tmp_path / "docs" / "table.md", tmp_path / "figure.png"
    words = [
        "study",
        "small",
        "--runs",
        str(runs),
        "--threads",
        "1",
        "--table",
        str(table),
        "--figure",
        str(figure),
    ]
    (runs / "second-tiny-seed0").mkdir(parents=True)
    with locked(runs / "second-tiny-seed0"):
        assert main(words) == 0
    output = capfd.readouterr()
    assert "second-tiny-seed0 is being trained by another process" in output.err
    assert "1 of 2 runs are finished." in output.out
    result = runs / "first-tiny-seed0" / "result.json"
    written = result.stat().st_mtime_ns
    assert main([*words, "--json"]) == 0
    rows = json.loads(capfd.readouterr().out)
    assert [row["variant"] for row in rows] == ["first", "second"]
    assert all(0 <= row["mean_test_accuracy"] <= 1 and row["num_parameters"] > 0 for row in rows)
    assert result.stat().st_mtime_ns == written
    assert sorted(path.name for path in runs.iterdir()) == ["first-tiny-seed0", "second-tiny-seed0"]
    assert table.read_text().count("\n") == 4
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_a_run_that_fails_is_named_and_the_others_go_on(small, tmp_path, capfd):
    (tmp_path / "first-tiny-seed0").mkdir()
    (tmp_path / "first-tiny-seed0" / "experiment.yaml").write_text("name: other\n")
    assert main(["study", "small", "--runs", str(tmp_path), "--threads", "1"]) == 2
    output = capfd.readouterr()
    assert "1 of 2 runs are finished." in output.out
    assert "1 runs failed and are missing above: first-tiny-seed0" in output.err
    assert "Traceback" not in output.err


def test_lists_studies_and_suggests_names(capsys):
    assert main(["study"]) == 0
    assert "hierarchical-attention" in capsys.readouterr().out
    assert main(["study", "hierarchical"]) == 2
    assert "there is no study 'hierarchical': did you mean 'hierarchical-attention'?" in capsys.readouterr().err


def test_refuses_an_unknown_kind_of_figure_before_any_work(small, tmp_path, capsys):
    assert main(["study", "small", "--runs", str(tmp_path / "runs"), "--figure", "picture.gif"]) == 2
    assert "--figure picture.gif should end in .png, .pdf, .svg" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
