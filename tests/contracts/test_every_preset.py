"""What every preset promises: in size tiny, on images that are not square."""

import copy
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from weights import check_weights

import headgrid
from headgrid.attention import PatchwiseAttentionConfig
from headgrid.evaluation.complexity import unused_parameters
from headgrid.experiments import PRESETS, make_experiment, save_model
from headgrid.experiments.experiment import FileConfig
from headgrid.models import FullyAttentionalConfig, HierarchicalSANConfig, ResNetConfig, ViTConfig
from headgrid.scores import LearnedPositionConfig, QueryPositionConfig

EVERY = pytest.mark.parametrize("name", PRESETS)
WITH_ATTENTION = pytest.mark.parametrize(
    "name", [name for name in PRESETS if not isinstance(make_experiment(name, "tiny").model, ResNetConfig)]
)
IDLE = ("report-san-pairwise-hierarchical", "report-san-patchwise-hierarchical")
"""As published, these have parameters that nothing uses."""

SIZE, SMALLER, LARGER, UNEVEN = (16, 24), (8, 16), (16, 32), (17, 24)


@cache
def _fresh(name: str) -> torch.nn.Module:
    torch.manual_seed(0)
    config = replace(make_experiment(name, "tiny").model, image_size=SIZE)
    model = config.build().double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))  # what starts at zero could hide something
    return model


def _model(name: str) -> torch.nn.Module:
    return copy.deepcopy(_fresh(name))


def _images(num_images: int = 3, size: tuple[int, int] = SIZE) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(num_images, 3, *size, dtype=torch.float64, generator=generator)


@EVERY
def test_trains_every_parameter_but_those_that_were_published_idle(name: str):
    model = _model(name).train()
    logits = model(_images())
    assert logits.shape == (3, model.config.num_classes)
    F.cross_entropy(logits, torch.tensor([0, 1, 2])).backward()
    idle = {key for key, parameter in model.named_parameters() if parameter.grad is None}
    assert idle == set(unused_parameters(model, _images(1)))
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters() if parameter.grad is not None)
    if name not in IDLE:
        assert not idle
        return
    assert isinstance(model.config, HierarchicalSANConfig)
    of_norms, of_key = 2 * 2 * model.config.channels, model.config.channels**2 // 16
    assert sum(model.get_parameter(key).numel() for key in idle) == of_norms + of_key


@pytest.mark.parametrize("name", IDLE)
def test_as_many_are_idle_as_in_the_reports_code(name: str):
    with torch.device("meta"):
        model = make_experiment(name).model.build()
        idle = unused_parameters(model, torch.zeros(1, 3, 32, 32))
    assert sum(parameter.numel() for parameter in idle.values()) == 5_120


@EVERY
def test_eval_mode_is_a_function_of_the_image_alone(name: str):
    """The same twice, whatever was drawn in between; alone and in company; and nothing of the model changes."""
    model, images = _model(name).eval(), _images()
    before = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    torch.manual_seed(1)
    logits = model(images)
    torch.manual_seed(2)
    assert torch.equal(model(images), logits)
    torch.testing.assert_close(model(images[1:2]), logits[1:2])
    torch.testing.assert_close(model(torch.cat([100 * images[:1], images[1:].flip(0)]))[1:], logits[1:].flip(0))
    assert all(torch.equal(before[key], tensor) for key, tensor in model.state_dict().items())


@WITH_ATTENTION
def test_hands_back_the_attention_of_every_application_by_name(name: str):
    model, images = _model(name).eval(), _images()
    logits, attention = model(images, record=True)
    torch.testing.assert_close(logits, model(images), rtol=1e-10, atol=1e-11)
    sums_to_one = not isinstance(model.config.attention, PatchwiseAttentionConfig)
    for key, output in attention.items():
        check_weights(output, model.get_submodule(key), sums_to_one)
    stacks = [module for key, module in model.named_modules() if key.split(".")[-1] == "stack"]
    assert len(attention) == sum(len(list(stack.applied())) for stack in stacks)


@EVERY
def test_a_file_brings_the_model_back(name: str, tmp_path: Path):
    model, path = _model(name).eval(), tmp_path / "model.safetensors"
    save_model(model, path)
    loaded = headgrid.load(path)
    assert loaded.config == model.config
    assert type(loaded) is type(model)
    assert torch.equal(loaded(_images()), model(_images()))


@EVERY
def test_takes_images_of_other_sizes_or_refuses_them_with_a_sentence(name: str):
    """A refusal names the length that does not fit, of the image or of its map, and then the way out."""
    model = _model(name).eval()
    for size in (SMALLER, LARGER, UNEVEN):
        length = _refused_length(model.config, size)
        if length is None:
            assert model(_images(1, size)).isfinite().all()
            continue
        with pytest.raises(ValueError, match=rf"^[a-z].*\b{length}\b.*: (both sides must|resize|build) .+"):
            model(_images(1, size))


def _refused_length(config: FileConfig, size: tuple[int, int]) -> int | None:
    """Vision transformers refuse every other size, models that concatenate the pixels of cells what is no multiple
    of a cell, and those with tables of shifts maps beyond these."""
    rows, columns = size
    if isinstance(config, ViTConfig):
        return rows
    if isinstance(config, HierarchicalSANConfig | FullyAttentionalConfig):
        cell = config.pixel_concatenation
        if rows % cell or columns % cell:
            return rows if rows % cell else columns
        if columns > SIZE[1] and _has_tables(config):
            return columns // cell
    return None


def _has_tables(config: FileConfig) -> bool:
    return isinstance(config, FullyAttentionalConfig) and any(
        isinstance(term, LearnedPositionConfig | QueryPositionConfig) for term in config.attention.scores
    )
