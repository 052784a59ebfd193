import subprocess
import sys
from pathlib import Path

import pytest
import torch

from headgrid.cli.errors import guarded
from headgrid.training import Diverged, Interrupted


def raising(error: BaseException):
    def command() -> int:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ValueError("this is wrong"), 2, "this is wrong"),
        (FileNotFoundError(2, "No such file or directory", "a/b"), 2, "a/b: no such file or directory"),
        (OSError("the disk is full"), 2, "the disk is full"),
        (Diverged("the loss is nan", 3, 0.1, Path("x")), 2, "the loss is nan"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (Interrupted("stopped; go on with --resume", Path("x"), 3), 130, "stopped; go on with --resume"),
        (torch.OutOfMemoryError("CUDA out of memory"), 2, "not enough memory: lower --training.batch-size"),
    ],
)
def test_one_sentence_and_a_code(error: BaseException, code: int, message: str, capsys: pytest.CaptureFixture[str]):
    assert guarded(raising(error)) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("headgrid: ")
    assert err.count("\n") == 1
    assert message in err


def test_mistakes_of_ours_are_not_hidden():
    with pytest.raises(ZeroDivisionError):
        guarded(raising(ZeroDivisionError()))


@pytest.mark.parametrize(
    ("end", "code"), [(SystemExit(), 0), (SystemExit(0), 0), (SystemExit(3), 3), (SystemExit("text"), 2)]
)
def test_the_argument_parser_chooses_its_code(end: SystemExit, code: int):
    assert guarded(raising(end)) == code


def test_a_reader_that_has_seen_enough_is_no_error():
    program = "from headgrid.cli.main import main; import sys; sys.stdin.read(); sys.exit(main(['--help']))"
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()  # before anything is written
    process.stdin.close()
    with process.stderr:
        assert process.stderr.read() == b""
    assert process.wait() == 141
