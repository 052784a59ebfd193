import subprocess
import sys
from pathlib import Path

import pytest
import torch

import headgrid
from headgrid.experiments import Experiment, experiment_of, make_experiment, save_model
from headgrid.experiments.serialization import model_to_yaml
from headgrid.models import ResNet
from headgrid.training import load_weights
from headgrid.training.checkpoint import save_tensors


def test_importing_headgrid_imports_nothing_heavy():
    program = "import sys, headgrid; assert 'create' in dir(headgrid); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_unknown_attributes():
    with pytest.raises(AttributeError, match="has no attribute 'crate'"):
        headgrid.crate  # noqa: B018


def test_models_by_name():
    model = headgrid.create("learned-query", size="tiny", num_classes=7, image_size=(12, 20), num_channels=1)
    assert model(torch.zeros(2, 1, 12, 20)).shape == (2, 7)
    logits, attention = headgrid.create("quadratic", size="tiny")(torch.zeros(2, 3, 32, 32), record=True)
    assert logits.shape == (2, 10)
    assert len(attention) == 2
    with pytest.raises(ValueError, match="did you mean 'resnet18'"):
        headgrid.create("resnet_18")


@pytest.mark.parametrize("name", ["resnet18", "quadratic", "learned-content-16-heads"])
def test_a_model_comes_back_from_its_file(name: str, tmp_path: Path):
    model = headgrid.create(name, size="tiny", num_classes=4).eval()
    path = tmp_path / "folder" / "model.safetensors"
    save_model(model, path)
    random_state = torch.get_rng_state()
    loaded = headgrid.load(path)
    assert torch.equal(random_state, torch.get_rng_state())
    images = torch.randn(3, 3, 32, 32)
    assert not loaded.training
    assert loaded.config == model.config
    assert torch.equal(loaded(images), model(images))
    assert [path.name for path in path.parent.iterdir()] == ["model.safetensors"]


def test_a_config_and_a_state_make_a_file_too_in_their_precision(tmp_path: Path):
    model = headgrid.create("quadratic", size="tiny").double().eval()
    save_model(model.config, tmp_path / "model.safetensors", model.state_dict())
    images = torch.randn(2, 3, 32, 32, dtype=torch.float64)
    assert torch.equal(headgrid.load(tmp_path / "model.safetensors")(images), model(images))
    with pytest.raises(ValueError, match="give the state as well"):
        save_model(model.config, tmp_path / "other.safetensors")


def test_a_run_its_checkpoints_and_its_experiment(tiny_run: Path, tiny_experiment: Experiment):
    images = torch.randn(2, 3, 32, 32)
    of_run = headgrid.load(str(tiny_run))
    of_checkpoint = headgrid.load(tiny_run / "checkpoints" / "best.safetensors")
    assert isinstance(of_run, ResNet)
    assert torch.equal(of_run(images), of_checkpoint(images))
    best = load_weights(tiny_run, "best")
    assert all(torch.equal(tensor, best[name]) for name, tensor in of_run.state_dict().items())
    assert (
        experiment_of(tiny_run) == experiment_of(tiny_run / "checkpoints" / "last.safetensors") == tiny_experiment
    )


def test_files_that_are_no_models(tmp_path: Path):
    with pytest.raises(ValueError, match=r"nothing does not exist: expected a run folder or a \.safetensors file"):
        headgrid.load(tmp_path / "nothing")
    with pytest.raises(ValueError, match="is no run folder"):
        headgrid.load(tmp_path)
    weights = tmp_path / "weights.safetensors"
    save_tensors(weights, {"weight": torch.zeros(2)}, {})
    with pytest.raises(ValueError, match="does not say which model its weights belong to"):
        headgrid.load(weights)
    config = make_experiment("quadratic", "tiny").model
    save_tensors(weights, {"weight": torch.zeros(2)}, {"model": model_to_yaml(config)})
    with pytest.raises(ValueError, match="does not fit the model"):
        headgrid.load(weights)
    weights.write_text("text")
    with pytest.raises(ValueError, match="no intact safetensors file"):
        headgrid.load(weights)
