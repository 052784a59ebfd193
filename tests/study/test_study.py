"""Studies: their runs, what came out of them, and the table."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from headgrid.evaluation.accuracy import Evaluation
from headgrid.experiments import experiment_to_yaml, make_experiment
from headgrid.stacks import Hierarchical
from headgrid.study import STUDIES, Study, StudyRow, markdown_table, outcomes
from headgrid.training import RunFolder, TrainingResult

TINY = make_experiment("quadratic", "tiny")
STUDY = Study(
    "heads",
    "Do more heads help?",
    (
        StudyRow("quadratic", "nine heads", replace(TINY, name="nine"), seeds=(0, 1, 2)),
        StudyRow("quadratic", "again", replace(TINY, name="again"), seeds=(0,)),
    ),
)


def _finish(runs: Path, row: StudyRow, seed_number: int, accuracy: float) -> None:
    experiment = list(row.runs())[seed_number]
    test = Evaluation(100, accuracy, None, 1.0, (accuracy,))
    result = TrainingResult("last epoch", 4, None, test, 4, 8, 123, 1, experiment.seed, 1.0, 10.0)
    folder = RunFolder(runs / experiment.title)
    folder.path.mkdir(parents=True)
    folder.experiment_file.write_text(experiment_to_yaml(experiment))
    folder.write_result({"test_accuracy": accuracy, **asdict(result)})


def test_first_seeds_run_first():
    assert [run.title for run in STUDY.runs()] == [
        "nine-tiny-seed0",
        "again-tiny-seed0",
        "nine-tiny-seed1",
        "nine-tiny-seed2",
    ]


def test_outcomes_are_means_over_the_finished_runs(tmp_path):
    nine, again = STUDY.rows
    for seed_number, accuracy in enumerate((0.5, 0.6)):
        _finish(tmp_path, nine, seed_number, accuracy)
    found = outcomes(STUDY, tmp_path)
    assert found[0].mean == pytest.approx(0.55)
    assert found[0].deviation == pytest.approx(0.1 / 2**0.5)
    assert found[0].num_parameters == 123
    assert (found[1].mean, found[1].deviation, found[1].num_parameters) == (None, None, None)
    assert "| quadratic | nine heads | 123 | 4 | 2 | 0.5500 ± 0.0707 |  |" in markdown_table(found)
    assert "|  | again | - | 4 | 0 | - | - |" in markdown_table(found)
    _finish(tmp_path, again, 0, 0.575)
    assert "| 0.5750 | +2.50 points |" in markdown_table(outcomes(STUDY, tmp_path))


def test_another_experiment_in_a_folder_is_no_result(tmp_path):
    _finish(tmp_path, STUDY.rows[0], 0, 0.5)
    folder = RunFolder(tmp_path / "nine-tiny-seed0")
    other = replace(next(STUDY.rows[0].runs()), training=replace(TINY.training, batch_size=7))
    folder.experiment_file.write_text(experiment_to_yaml(other))
    with pytest.raises(ValueError, match="holds another experiment than the study's run of that name"):
        outcomes(STUDY, tmp_path)


def test_the_combinations_differ_in_the_two_ingredients_alone():
    groups = STUDIES["hierarchical-attention"].groups()
    assert list(groups) == ["learned-content", "san-pairwise", "san-patchwise", "vit"]
    for rows in groups.values():
        combinations = [row.experiment for row in rows[:4]]
        assert [row.variant for row in rows[:2]] == ["plain", "hierarchical"]
        same = {
            replace(experiment, name="", model=replace(experiment.model, stack=Hierarchical()))  # type: ignore
            for experiment in combinations
        }
        assert len(same) == 1
        assert len({experiment.model.stack for experiment in combinations}) == 4  # type: ignore
    assert {len(row.seeds) for row in groups["learned-content"]} == {3}
