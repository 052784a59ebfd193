"""The benchmark of hierarchical attention runs, and counts what can be known."""

import json
import os
import subprocess
import sys
from pathlib import Path

from headgrid.experiments import hierarchical, initial_model, make_experiment, tiny

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "hierarchical_attention.py"


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), "--size", "tiny", "--repetitions", "1", "--batch", "2", *arguments]
    return subprocess.run(command, env={**os.environ}, capture_output=True, text=True, timeout=120)


def test_measures_the_four_combinations():
    result = _run("learned-content", "--json")
    assert result.returncode == 0, result.stderr
    costs = {cost["combination"]: cost for cost in json.loads(result.stdout)}
    assert list(costs) == ["plain", "hierarchical", "shared weights alone", "kept key alone"]
    counts = {name: cost["num_parameters"] for name, cost in costs.items()}
    twin = initial_model(tiny(hierarchical(make_experiment("learned-content"))))
    assert counts["hierarchical"] == sum(parameter.numel() for parameter in twin.parameters())
    # A shared block has its key either way; blocks of their own save a key projection from the second on.
    assert counts["shared weights alone"] == counts["hierarchical"] < counts["kept key alone"] < counts["plain"]
    for cost in costs.values():
        assert cost["weight_bytes"] == 3 * 4 * cost["num_parameters"]
        assert cost["kept_bytes"] > 0
        assert cost["training_seconds"] > 0
        assert cost["inference_seconds"] > 0


def test_a_preset_without_attention_is_refused():
    result = _run("resnet18")
    assert result.returncode != 0
    assert "resnet18 has no hierarchical twin" in result.stderr
