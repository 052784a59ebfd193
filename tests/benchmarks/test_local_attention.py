"""The benchmark of local attention runs, compares what it times, and prints what it promises."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "local_attention.py"


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "160"}
    command = [sys.executable, str(SCRIPT), "--repetitions", "1", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


def test_measures_every_way_of_every_shape_and_footprint():
    result = _run("--shapes", "2,6,7,8,2", "1,8,5,16,4", "--footprints", "3", "5", "--layers", "--json")
    assert result.returncode == 0, result.stderr
    costs = json.loads(result.stdout)
    assert len(costs) == 2 * 2 * (4 + 2 + 2)
    ways = {(cost["what"], cost["way"]) for cost in costs}
    aggregation = ("unfold", "shifts", "shifts, turned", "explicit")
    layers = ("written out", "fast")
    assert ways == {("aggregation", way) for way in aggregation} | {
        (what, way) for what in ("pairwise", "patchwise") for way in layers
    }
    for cost in costs:
        assert cost["forward"] > 0
        assert cost["forward_and_backward"] > 0
        assert cost["megabytes"] > 0


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ("4,56,56,64", "a shape is BATCH,HEIGHT,WIDTH,CHANNELS,GROUPS, such as 4,56,56,64,8; got '4,56,56,64'"),
        ("4,56,56,64,7", "64 channels cannot share the weights of 7 groups evenly"),
    ],
)
def test_a_shape_that_is_none_is_refused(shape: str, message: str):
    result = _run("--shapes", shape)
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
