import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from headgrid.training import lock
from headgrid.training.lock import locked

HOLD = """
import sys, time, pathlib
from headgrid.training.lock import locked
with locked(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_one_process_at_a_time_and_a_dead_one_holds_nothing(tmp_path: Path):
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(ValueError, match="another process is training into"), locked(tmp_path):
            pass
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        with locked(tmp_path):
            pass
    finally:
        holder.kill()
        holder.communicate()
    with locked(tmp_path):
        pass


def test_a_file_system_without_locks_is_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(file: object) -> None:
        raise OSError(lock.errno.ENOSYS, "not supported")

    monkeypatch.setattr(lock, "_try_lock", fail)
    with pytest.warns(UserWarning, match="has no locks"), locked(tmp_path):
        pass
