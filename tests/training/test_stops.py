import os
import pickle
import signal
import threading
from pathlib import Path

import pytest

from headgrid.training import Diverged, Interrupted, Processes
from headgrid.training.stops import stop_request


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_a_request_and_nothing_more(number: signal.Signals):
    before = signal.getsignal(number)
    with stop_request(Processes()) as request:
        assert not request.is_made
        os.kill(os.getpid(), number)
        assert request.is_made
        assert request.signal == number.name
    assert signal.getsignal(number) is before


def test_a_second_ctrl_c_stops_at_once():
    with stop_request(Processes()):
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_processes_of_a_group_are_told_twice():
    with stop_request(Processes(rank=0, num_processes=2)) as request:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        assert request.is_made


def test_other_threads_train_without_signals():
    made = []

    def work() -> None:
        with stop_request(Processes()) as request:
            made.append(request.is_made)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert made == [False]


def test_both_stops_travel_between_processes():
    interrupted = pickle.loads(pickle.dumps(Interrupted("stopped", Path("run"), 7)))
    assert (str(interrupted), interrupted.folder, interrupted.step) == ("stopped", Path("run"), 7)
    diverged = pickle.loads(pickle.dumps(Diverged("nan", 7, 0.1, Path("last"))))
    assert (str(diverged), diverged.step, diverged.learning_rate) == ("nan", 7, 0.1)
    assert isinstance(diverged, ValueError)
