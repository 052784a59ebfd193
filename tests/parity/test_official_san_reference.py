"""What the official SAN computed, case by case, against our models with its weights."""

import importlib.util
import json
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from headgrid.interop.official_san import translate, translate_operator


class Case:
    """One file: the official configuration, weights, input and result."""

    def __init__(self, folder: Path, name: str) -> None:
        spec = importlib.util.spec_from_file_location("fill", folder / "fill.py")
        assert spec is not None
        assert spec.loader is not None
        fill = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(fill)
        with safe_open(folder / f"{name}.safetensors", "pt") as file:
            case = json.loads(file.metadata()["case"])
            self.logits = file.get_tensor("logits")
        self.config: dict = case["config"]
        self.num_parameters: int = case["num_parameters"]
        self.state = {entry: fill.filled(entry, shape, case["scales"]) for entry, shape in case["state"].items()}
        self.input = fill.filled_input(case["input_seed"], case["input_shape"])

    def check(self, output: torch.Tensor) -> None:
        assert (output - self.logits).abs().max() <= 1e-4 * max(1.0, self.logits.abs().max().item())


@pytest.mark.parametrize("footprint", [3, 5, 7])
@pytest.mark.parametrize("kind", ["pairwise", "patchwise"])
@torch.no_grad()
def test_operator(reference_dir: Path, kind: str, footprint: int) -> None:
    case = Case(reference_dir, f"san_operator_{kind}_k{footprint}")
    operator = translate_operator(case.state, case.config)
    assert sum(parameter.numel() for parameter in operator.parameters()) == case.num_parameters
    case.check(operator(case.input))
    maps, attended = operator(case.input, record=True)
    case.check(maps)
    assert attended.weights.shape == (2, 8, 9, 14, footprint**2)


@pytest.mark.parametrize("kind", ["pairwise", "patchwise"])
@pytest.mark.parametrize("size", ["san10", pytest.param("san19", marks=pytest.mark.slow)])
@torch.no_grad()
def test_network(reference_dir: Path, size: str, kind: str) -> None:
    case = Case(reference_dir, f"{size}_{kind}")
    model = translate(case.state, case.config)
    assert sum(parameter.numel() for parameter in model.parameters()) == case.num_parameters
    case.check(model(case.input))
    if size == "san10":
        logits, outputs = model(case.input, record=True)
        case.check(logits)
        assert len(outputs) == 10


@torch.no_grad()
def test_weights_saved_under_data_parallel(reference_dir: Path) -> None:
    case = Case(reference_dir, "san_operator_pairwise_k5")
    prefixed = {f"module.{name}": tensor for name, tensor in case.state.items()}
    case.check(translate_operator(prefixed, case.config)(case.input))
