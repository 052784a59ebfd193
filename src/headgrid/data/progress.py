"""Progress on standard error: a bar on a terminal, a line now and then elsewhere, nothing for a short job."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def progress(title: str, total: int, completed: int = 0) -> Iterator[Callable[[int], None]]:
    """A function to call with the number of steps (bytes, folders, ...) just done."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(title, total, completed).advance
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=total, completed=completed)
        yield lambda num_steps: bar.advance(task, num_steps)


class _Lines:
    def __init__(self, title: str, total: int, completed: int) -> None:
        self.title, self.total, self.completed, self.first = title, total, completed, completed
        self.start = self.last = time.monotonic()
        self.console = Console(stderr=True)

    def advance(self, num_steps: int) -> None:
        self.completed += num_steps
        now = time.monotonic()
        if now - self.last < SECONDS_BETWEEN_LINES:
            return
        self.last = now
        seconds_left = (now - self.start) * (self.total - self.completed) / (self.completed - self.first)
        share = self.completed / self.total
        self.console.print(f"{self.title}: {share:.0%}, {seconds_left:.0f} s left", highlight=False)
