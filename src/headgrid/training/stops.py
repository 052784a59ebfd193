"""The two ways in which a training ends early: somebody stops it, or its loss is no number any more."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from headgrid.training.distributed import Processes


class Interrupted(Exception):  # noqa: N818
    """Somebody stopped the training (Ctrl-C, or SIGTERM from a cluster); everything is saved."""

    def __init__(self, message: str, folder: Path, step: int) -> None:
        super().__init__(message)
        self.folder = folder
        self.step = step

    def __reduce__(self) -> tuple:
        return type(self), (str(self), self.folder, self.step)


class Diverged(ValueError):  # noqa: N818
    """The loss or a weight is not a finite number any more."""

    def __init__(self, message: str, step: int, learning_rate: float, checkpoint: Path) -> None:
        super().__init__(message)
        self.step = step
        self.learning_rate = learning_rate
        self.checkpoint = checkpoint

    def __reduce__(self) -> tuple:
        return type(self), (str(self), self.step, self.learning_rate, self.checkpoint)


class StopRequest:
    """Whether somebody has asked this process to stop."""

    def __init__(self) -> None:
        self.signal: str | None = None

    @property
    def is_made(self) -> bool:
        return self.signal is not None


@contextmanager
def stop_request(processes: Processes) -> Iterator[StopRequest]:
    """Let Ctrl-C and SIGTERM ask for a stop at the next step, where the state can be saved.

    A second Ctrl-C stops at once. Among several processes it does not: torchrun passes on what the terminal has
    sent already, so that each of them is told twice.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread can receive signals; others are stopped by whoever started them.
        yield request
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if request.is_made and number == signal.SIGINT and processes.num_processes == 1:
            raise KeyboardInterrupt
        request.signal = signal.Signals(number).name

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
