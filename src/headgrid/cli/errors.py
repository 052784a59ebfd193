"""Mistakes of users end in one sentence and an exit code, never in a traceback."""

import os
import signal
import sys
from collections.abc import Callable

USAGE_ERROR = 2
INTERRUPTED = 128 + signal.SIGINT
BROKEN_PIPE = 141
"""128 + SIGPIPE, which not every system has."""


def guarded(command: Callable[[], int]) -> int:
    """Runs a command; returns its exit code, or that of the error it ended in."""
    try:
        code = command()
        sys.stdout.flush()
        return code
    except SystemExit as end:  # of the argument parser, which has said what was wrong
        return 0 if end.code is None else end.code if isinstance(end.code, int) else USAGE_ERROR
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has seen enough. Nothing more must be written to it, at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except OSError as error:
        return _fail(_in_words(error), USAGE_ERROR)
    except ValueError as error:
        return _fail(str(error), USAGE_ERROR)
    except Exception as error:
        if type(error).__name__ == "Interrupted":  # from training, which is not imported here: it takes seconds
            return _fail(str(error), INTERRUPTED)
        if type(error).__name__ == "OutOfMemoryError":
            return _fail("the device has not enough memory: lower --training.batch-size", USAGE_ERROR)
        raise


def _in_words(error: OSError) -> str:
    if error.filename is None or error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror[:1].lower()}{error.strerror[1:]}"


def _fail(message: str, code: int) -> int:
    print(f"headgrid: {message}", file=sys.stderr)
    return code
