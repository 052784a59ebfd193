import io
import sys
from pathlib import Path

import pytest
from rich.console import Console

from headgrid.training import Progress, choose_progress, progress
from headgrid.training.progress import Bar, Lines, Pace, in_words

from .small import train_small


class Clock:
    """Time that passes when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    return made


ROW = {
    "epoch": 2,
    "training_loss": 1.23456,
    "training_accuracy": 0.5,
    "validation_loss": 1.5,
    "validation_accuracy": 0.4321,
    "images_per_second": 1234.5,
}


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.4, "0 s"),
        (99.0, "99 s"),
        (101.0, "2 min"),
        (3500.0, "58 min"),
        (3599.0, "1 h 00 min"),
        (8000.0, "2 h 13 min"),
        (47.9 * 3600, "47 h 54 min"),
        (80 * 3600.0, "3.3 days"),
    ],
)
def test_durations_in_words(seconds: float, words: str):
    assert in_words(seconds) == words


def test_time_left_weighs_training_and_evaluation(clock: Clock):
    pace = Pace(num_training=100, num_evaluation=60)
    assert pace.total == 360
    pace.train(20)
    clock.now += 60
    assert pace.seconds_left == pytest.approx(300)
    pace.evaluate(60)
    clock.now += 60
    assert pace.seconds_left == pytest.approx(240)
    pace.train(80)
    assert pace.seconds_left == 0


def test_work_of_an_earlier_process_tells_nothing_about_the_pace(clock: Clock):
    pace = Pace(100, 0)
    clock.now += 1000
    pace.skip(50, 0)
    pace.train(10)
    clock.now += 10
    assert pace.seconds_left == pytest.approx(40)


def test_lines_come_soon_then_seldom_and_for_every_epoch(clock: Clock, capsys: pytest.CaptureFixture):
    lines = Lines()
    pace = Pace(1000, 0)
    lines.start(pace, num_epochs=3)
    assert not lines.is_due()
    clock.now += 6
    pace.train(100)
    assert lines.is_due()
    lines.training(1, 2.5, 0.1, 321.0)
    clock.now += 200
    assert not lines.is_due()
    lines.finish_epoch(ROW)
    clock.now += 200
    assert not lines.is_due()
    clock.now += 101
    assert lines.is_due()
    assert capsys.readouterr().err.splitlines() == [
        "epoch 1/3, 10.0% of the run: loss 2.5000, accuracy 10.00%, 321 images/s, 54 s left",
        "epoch 2/3: loss 1.2346, accuracy 50.00%; validation loss 1.5000, accuracy 43.21%; 1,234 images/s, "
        "31 min left",
    ]


def test_the_last_line_has_nothing_left_and_may_lack_validation():
    row = {**ROW, "epoch": 3, "validation_loss": None, "validation_accuracy": None}
    assert progress.epoch_line(row, 3, 100.0) == "epoch 3/3: loss 1.2346, accuracy 50.00%; 1,234 images/s"


def test_the_bar_shows_all_numbers_and_keeps_a_line_per_epoch(clock: Clock):
    stream = io.StringIO()
    bar = Bar(Console(file=stream, force_terminal=True, width=110, color_system=None))
    pace = Pace(1000, 0)
    bar.start(pace, num_epochs=3)
    try:
        pace.train(250)
        clock.now += 60
        assert bar.is_due()
        assert not bar.is_due()
        bar.training(1, 2.5, 0.1, 321.0)
        bar._bar.refresh()
        bar.evaluating("validation")
        bar._bar.refresh()
        bar.finish_epoch(ROW)
        bar.say("[red] is no markup")
    finally:
        bar.close()
    text = stream.getvalue()
    assert "epoch 1/3" in text
    assert "25%" in text
    assert "loss 2.500, accuracy 10.0%, 321 images/s, 3 min left" in text
    assert "validation" in text
    assert "epoch 2/3: loss 1.2346" in text
    assert "[red] is no markup" in text


def test_a_terminal_gets_a_bar_a_file_lines_and_quiet_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert type(choose_progress()) is Bar
    assert type(choose_progress(quiet=True)) is Progress
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    assert type(choose_progress()) is Lines


def test_a_training_tells_its_story_on_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture):
    class Eager(Lines):
        interval = first_after = 0.0

    train_small(tmp_path, progress=Eager())
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[0] == f"training 323 parameters for 28 steps on cpu, into {tmp_path}"
    assert sum(line.startswith("epoch 1/4, ") for line in lines) == 7
    assert [line.split(":")[0] for line in lines if "validation" in line] == [f"epoch {e}/4" for e in range(1, 5)]
    train_small(tmp_path, progress=Lines(), resume=True)
    assert "is finished already: test accuracy" in capsys.readouterr().err


def test_a_bar_survives_a_training_and_an_interruption(tmp_path: Path):
    stream = io.StringIO()
    bar = Bar(Console(file=stream, force_terminal=True, width=110))
    bar.interval = 0.0
    train_small(tmp_path, progress=bar)
    assert stream.getvalue().count("validation loss") == 4
    assert not bar._bar.live.is_started
