"""What every model promises, whatever its family."""

import copy
import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from small_models import SMALL_MODELS, SmallModel
from weights import check_weights

EVERY = pytest.mark.parametrize("name", SMALL_MODELS)
RECORDING = pytest.mark.parametrize("name", [name for name in SMALL_MODELS if name != "resnet"])


def _build(name: str) -> tuple[SmallModel, torch.nn.Module, torch.Tensor]:
    """In float64, so that equal means equal."""
    torch.manual_seed(0)
    small = SMALL_MODELS[name]
    model = small.config.build().double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))  # what starts at zero could hide something
    return small, model, torch.randn(3, 3, *small.image_size, dtype=torch.float64)


@EVERY
def test_trains_every_parameter(name):
    _, model, images = _build(name)
    logits = model.train()(images)
    assert logits.shape == (3, 10)
    torch.nn.functional.cross_entropy(logits, torch.tensor([0, 3, 9])).backward()
    assert [key for key, parameter in model.named_parameters() if parameter.grad is None] == []
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


@EVERY
def test_eval_mode_is_a_function_of_the_image_alone(name):
    """The same twice, no state changes, and neither order nor company in the batch matters."""
    _, model, images = _build(name)
    model.eval()
    before = copy.deepcopy(model.state_dict())
    logits = model(images)
    assert torch.equal(model(images), logits)
    torch.testing.assert_close(model(images.flip(0)).flip(0), logits)
    torch.testing.assert_close(model(images[:1]), logits[:1])
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())


@RECORDING
def test_records_every_attention_by_the_name_of_its_module(name):
    small, model, images = _build(name)
    logits, attention = model.eval()(images, record=True)
    torch.testing.assert_close(logits, model(images), rtol=1e-11, atol=1e-12)
    layers = {
        module
        for key, module in model.named_modules()
        if key.endswith("attention") and "record" in inspect.signature(module.forward).parameters
    }
    assert {model.get_submodule(key) for key in attention} == layers
    assert len(attention) == (small.num_applications or len(layers))
    for key, output in attention.items():
        check_weights(output, model.get_submodule(key), small.sums_to_one)


@RECORDING
@pytest.mark.parametrize("training", [False, True], ids=["eval", "training"])
def test_both_paths_have_the_same_gradients(name, training):
    """In training mode the same seed draws the same masks."""
    _, model, images = _build(name)
    model.train(training)
    twin = copy.deepcopy(model)
    images.requires_grad_()
    results = []
    for network, record in ((model, False), (twin, True)):
        torch.manual_seed(5)
        logits = network(images, record=True)[0] if record else network(images)
        loss = torch.nn.functional.cross_entropy(logits, torch.tensor([0, 3, 9]))
        results.append(torch.autograd.grad(loss, [images, *network.parameters()]))
    for fast, explicit in zip(*results, strict=True):
        torch.testing.assert_close(fast, explicit, rtol=1e-9, atol=1e-11)


@EVERY
def test_weights_survive_state_dict_and_deepcopy(name):
    small, model, images = _build(name)
    logits = model.eval()(images)
    twin = small.config.build().double().eval()
    twin.load_state_dict(model.state_dict())
    assert torch.equal(twin(images), logits)
    clone = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert torch.equal(clone(images), logits)


@EVERY
def test_takes_other_image_sizes_or_refuses_them_with_a_sentence(name):
    small, model, _ = _build(name)
    model.eval()
    for size in small.accepts:
        assert model(torch.randn(1, 3, *size, dtype=torch.float64)).isfinite().all()
    for size in small.refuses:
        with pytest.raises(ValueError, match=r"^[a-z].* (must|was|cannot) "):
            model(torch.randn(1, 3, *size, dtype=torch.float64))


@EVERY
def test_trains_under_bfloat16_autocast(name):
    _, model, images = _build(name)
    model, images = model.float().train(), images.float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(images)
    torch.nn.functional.cross_entropy(logits.float(), torch.tensor([0, 3, 9])).backward()
    for key, parameter in model.named_parameters():
        assert parameter.grad is not None, key
        assert parameter.grad.isfinite().all(), key
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        close = model.eval()(images)
    exact = model(images)
    assert (close - exact).abs().max() < 0.1 * exact.abs().max().clamp_min(1)


@EVERY
def test_is_built_on_the_meta_device_and_can_be_filled_there(name):
    small, model, images = _build(name)
    with torch.device("meta"):
        empty = small.config.build()
    assert all(parameter.device.type == "meta" for parameter in empty.parameters())
    empty.double().to_empty(device="cpu").load_state_dict(model.state_dict())
    assert torch.equal(empty.eval()(images), model.eval()(images))


def _compile(backend: str, *names: str) -> None:
    """In a process of its own: the shape checks of the tests cannot be compiled."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "compile_models.py", backend, *names]
    subprocess.run(command, cwd=Path(__file__).parent, env=environment, check=True, timeout=280)


def test_compiles_into_one_graph():
    """Without generating code, which the slow test does."""
    _compile("aot_eager", "quadratic", "query-position + content")


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="needs a C++ compiler")
@pytest.mark.parametrize("name", SMALL_MODELS)
def test_compiles_to_machine_code(name):
    _compile("inductor", name)
