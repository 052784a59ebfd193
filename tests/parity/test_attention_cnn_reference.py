"""What the original computed, case by case, against our models with its weights."""

import importlib.util
import json
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from torch import Tensor, nn

from headgrid.interop.attention_cnn import translate, translate_resnet18

KINDS = ("quadratic", "quadratic_generalized", "learned", "learned_query_position", "learned_content")


class Case:
    """One file: the original's config, weights, input and results."""

    def __init__(self, folder: Path, name: str) -> None:
        spec = importlib.util.spec_from_file_location("fill", folder / "fill.py")
        assert spec is not None
        assert spec.loader is not None
        fill = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(fill)
        with safe_open(folder / f"{name}.safetensors", "pt") as file:
            case = json.loads(file.metadata()["case"])
            stored = {entry: file.get_tensor(entry) for entry in file.keys()}  # noqa: SIM118
        self.config: dict = case["config"]
        self.num_parameters: int = case["num_parameters"]
        self.state: dict[str, Tensor] = {}
        for entry, shape in case["state"].items():
            literal = stored.get(f"state.{entry}")
            self.state[entry] = fill.filled(entry, shape, case["scales"]) if literal is None else literal
        self.images = stored.get("input")
        if self.images is None:
            self.images = fill.filled_input(case["input_seed"], case["input_shape"])
        self.logits = stored["logits"]
        self.maps = [stored[f"attention_probs.{i}"] for i in range(9) if f"attention_probs.{i}" in stored]

    def check_logits(self, model: nn.Module) -> None:
        assert sum(parameter.numel() for parameter in model.parameters()) == self.num_parameters
        with torch.no_grad():
            logits = model(self.images)
        assert (logits - self.logits).abs().max() <= 1e-5 * max(1.0, self.logits.abs().max().item())


@pytest.mark.parametrize("kind", KINDS)
def test_small_network(reference_dir: Path, kind: str) -> None:
    case = Case(reference_dir, f"attention_cnn_{kind}")
    model = translate(case.state, case.config)
    case.check_logits(model)

    with torch.no_grad():
        logits, record = model(case.images, record=True)
    assert (logits - case.logits).abs().max() <= 1e-5 * case.logits.abs().max()
    assert len(record) == len(case.maps) == 3
    for output, stored in zip(record.values(), case.maps, strict=True):
        # Stored with the head between query and key, and without a batch axis where no map depends on the image.
        theirs = stored.expand(len(case.images), *stored.shape[-5:]).permute(0, 3, 1, 2, 4, 5)
        torch.testing.assert_close(output.weights, theirs, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_network_of_the_papers_size(reference_dir: Path, kind: str) -> None:
    case = Case(reference_dir, f"attention_cnn_{kind}_full")
    case.check_logits(translate(case.state, case.config))


def test_resnet18(reference_dir: Path) -> None:
    case = Case(reference_dir, "attention_cnn_resnet18")
    model = translate_resnet18(case.state)
    case.check_logits(model)
    assert not model.training
