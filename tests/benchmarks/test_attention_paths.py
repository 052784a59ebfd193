"""The benchmark of attention paths runs, compares what it times, and prints what it promises."""

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "attention_paths.py"


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "140"}
    command = [sys.executable, str(SCRIPT), "--repetitions", "1", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


def test_times_every_path_of_every_shape():
    result = _run("--shapes", "1,2,3,4,2", "2,3,2,4,3", "--precision", "bfloat16", "--json")
    assert result.returncode == 0, result.stderr
    timings = json.loads(result.stdout)
    assert len(timings) == 2 * (5 + 3)
    assert {timing["path"] for timing in timings if timing["score"] == "position"} == {
        "separable", "separable, one einsum", "shared", "fused", "explicit",
    }  # fmt: skip
    assert {timing["path"] for timing in timings if timing["score"] == "content"} == {"fused", "map", "explicit"}
    assert all(timing["forward"] > 0 and timing["forward_and_backward"] > 0 for timing in timings)


def test_a_shape_that_is_none_is_refused():
    result = _run("--shapes", "8,16,16", "--json")
    assert result.returncode != 0
    assert "a shape is BATCH,HEIGHT,WIDTH,CHANNELS,HEADS, such as 8,16,16,400,9; got '8,16,16'" in result.stderr
