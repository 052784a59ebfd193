"""One process per run folder, by a lock that vanishes with its process however that ends."""

import errno
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

LOCK = ".lock"
"""The file that is locked. Its presence means nothing; only a living process can hold the lock."""

_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}


def _try_lock(file: BinaryIO) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, or say in one sentence that another process does."""
    with open(folder / LOCK, "ab") as file:
        try:
            _try_lock(file)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise ValueError(
                    f"another process is training into {folder}: wait until it ends, or choose another run folder"
                ) from error
            warnings.warn(
                f"the file system of {folder} has no locks: make sure that nobody else trains into it",
                stacklevel=2,
            )
        yield


def is_locked(folder: Path) -> bool:
    """Whether another process holds the lock of a folder at this moment."""
    if not (folder / LOCK).exists():
        return False
    with open(folder / LOCK, "ab") as file:
        try:
            _try_lock(file)
        except OSError as error:
            return error.errno not in _NO_LOCKS
    return False
