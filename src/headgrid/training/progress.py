"""What a training shows while it runs: a bar on a terminal, plain lines elsewhere, or nothing.

Everything goes to standard error, so that standard output stays free for results.
"""

import sys
import time

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as RichBar

from headgrid.training.files import Row

_TRAINING_WORK, _EVALUATION_WORK = 3, 1
"""An image costs about three times as much in training (forward, and twice that backward) as in evaluation."""


def in_words(seconds: float) -> str:
    """A duration as people say it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours < 48 else f"{hours / 24:.1f} days"


class Pace:
    """Work done and work to do, in image passes, and the time that the rest will take."""

    def __init__(self, num_training: int, num_evaluation: int) -> None:
        self.total = max(1, num_training * _TRAINING_WORK + num_evaluation * _EVALUATION_WORK)
        self.done = 0
        self._began_at = self.done
        self._start = time.perf_counter()

    def skip(self, num_training: int, num_evaluation: int) -> None:
        """Count what an earlier process has done; it tells nothing about the pace of this one."""
        self.done += num_training * _TRAINING_WORK + num_evaluation * _EVALUATION_WORK
        self._began_at = self.done
        self._start = time.perf_counter()

    def train(self, num_images: int) -> None:
        self.done += num_images * _TRAINING_WORK

    def evaluate(self, num_images: int) -> None:
        self.done += num_images * _EVALUATION_WORK

    @property
    def work_per_second(self) -> float:
        return (self.done - self._began_at) / max(1e-9, time.perf_counter() - self._start)

    @property
    def seconds_left(self) -> float:
        return max(0, self.total - self.done) / max(1e-9, self.work_per_second)


class Progress:
    """Shows nothing; the base of those that do."""

    interval = float("inf")
    """Seconds between two looks at the running sums, which on a GPU make the program wait."""

    def __init__(self) -> None:
        self._last_look = float("-inf")
        self.pace = Pace(0, 0)
        self.num_epochs = 0

    def start(self, pace: Pace, num_epochs: int) -> None:
        self.pace = pace
        self.num_epochs = num_epochs

    def is_due(self) -> bool:
        """Whether `training` should be told the loss now."""
        now = time.perf_counter()
        if now - self._last_look < self.interval:
            return False
        self._last_look = now
        return True

    def say(self, text: str) -> None:
        """Tell something that is no number."""

    def training(self, epoch: int, loss: float, accuracy: float, images_per_second: float) -> None:
        """Tell how the epoch stands."""

    def evaluating(self, what: str) -> None:
        """Tell that images are being evaluated; called after every batch."""

    def finish_epoch(self, row: Row) -> None:
        """Tell the metrics of an epoch."""

    def close(self) -> None:
        """Remove what moves."""


def epoch_line(row: Row, num_epochs: int, seconds_left: float) -> str:
    line = (
        f"epoch {row['epoch']}/{num_epochs}: "
        f"loss {row['training_loss']:.4f}, accuracy {row['training_accuracy']:.2%}"
    )
    if row["validation_accuracy"] is not None:
        loss = "not finite" if row["validation_loss"] is None else f"{row['validation_loss']:.4f}"
        line += f"; validation loss {loss}, accuracy {row['validation_accuracy']:.2%}"
    line += f"; {row['images_per_second']:,.0f} images/s"
    return line + (f", {in_words(seconds_left)} left" if row["epoch"] < num_epochs else "")


class Lines(Progress):
    """One line per epoch, one soon after the start, and one now and then in long epochs."""

    interval = 300.0
    first_after = 5.0

    def start(self, pace: Pace, num_epochs: int) -> None:
        super().start(pace, num_epochs)
        self._last_look = time.perf_counter() - self.interval + self.first_after

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def training(self, epoch: int, loss: float, accuracy: float, images_per_second: float) -> None:
        self.say(
            f"epoch {epoch}/{self.num_epochs}, {self.pace.done / self.pace.total:.1%} of the run: loss {loss:.4f}, "
            f"accuracy {accuracy:.2%}, {images_per_second:,.0f} images/s, {in_words(self.pace.seconds_left)} left"
        )

    def finish_epoch(self, row: Row) -> None:
        # Short epochs make their own lines; only a long one asks for more.
        self._last_look = time.perf_counter()
        self.say(epoch_line(row, self.num_epochs, self.pace.seconds_left))


class Bar(Progress):
    """A bar over the whole run, below a line for every epoch."""

    interval = 0.5

    def __init__(self, console: Console | None = None) -> None:
        super().__init__()
        self.console = console or Console(stderr=True)
        self._bar = RichBar(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.fields[numbers]}"),
            console=self.console,
            transient=True,
            expand=True,
        )
        self._task: TaskID | None = None

    def start(self, pace: Pace, num_epochs: int) -> None:
        super().start(pace, num_epochs)
        self._task = self._bar.add_task("", total=pace.total, completed=pace.done, numbers="")
        self._bar.start()

    def _show(self, description: str, numbers: str | None = None) -> None:
        if self._task is not None:
            if numbers is not None:
                self._bar.update(self._task, numbers=numbers)
            self._bar.update(self._task, description=description, completed=self.pace.done)

    def say(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False)

    def training(self, epoch: int, loss: float, accuracy: float, images_per_second: float) -> None:
        self._show(
            f"epoch {epoch}/{self.num_epochs}",
            f"loss {loss:.3f}, accuracy {accuracy:.1%}, {images_per_second:,.0f} images/s, "
            f"{in_words(self.pace.seconds_left)} left",
        )

    def evaluating(self, what: str) -> None:
        self._show(what)

    def finish_epoch(self, row: Row) -> None:
        self.say(epoch_line(row, self.num_epochs, self.pace.seconds_left))

    def close(self) -> None:
        self._bar.stop()


def choose_progress(quiet: bool = False) -> Progress:
    """A bar on a terminal, lines elsewhere, nothing on request."""
    if quiet:
        return Progress()
    return Bar() if sys.stderr.isatty() else Lines()
