from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from headgrid.data import Cifar10, Cifar100, Embedded, ImageFolder
from headgrid.experiments import PRESETS, for_data, hardware, make_experiment, shorten
from headgrid.experiments.durations import SECONDS_PER_EPOCH, expected_seconds
from headgrid.experiments.sizes import LAPTOP, TINY, laptop, paper, tiny
from headgrid.models import FullyAttentionalConfig, SANConfig
from headgrid.training import AdamW, MultiStep


@pytest.mark.parametrize("name", PRESETS)
def test_smaller_sizes_keep_what_a_preset_is(name: str):
    published = make_experiment(name)
    assert paper(published) == published
    for smaller in (laptop(published), tiny(published)):
        assert smaller.name == name
        assert smaller.training.batch_size == min(published.training.batch_size, 100)
        assert type(smaller.model) is type(published.model)
        if isinstance(smaller.model, FullyAttentionalConfig):
            assert isinstance(published.model, FullyAttentionalConfig)
            dropout = replace(smaller.model.attention.dropout, probability=0.1)
            assert replace(smaller.model.attention, dropout=dropout) == published.model.attention
            assert type(smaller.model.block) is type(published.model.block)
    if isinstance(published.data, Cifar10):
        assert laptop(published).data == published.data
    assert isinstance(tiny(published).data, Embedded)
    content = not isinstance(published.model, FullyAttentionalConfig) and name != "resnet18"
    content |= name.startswith(("learned-query", "learned-content"))
    for size, reduction in ((laptop, LAPTOP), (tiny, TINY)):
        if name.startswith("intel"):
            continue
        num_epochs = reduction.num_content_epochs if content else reduction.num_epochs
        assert size(published).training.num_epochs == num_epochs


def test_every_preset_of_size_laptop_ends_within_half_an_hour():
    """As far as it was measured, `benchmarks/epoch_duration.py`."""
    measured = [name for name, size in SECONDS_PER_EPOCH if size == "laptop"]
    assert set(measured) <= set(PRESETS)
    for name in measured:
        experiment = make_experiment(name, "laptop")
        assert isinstance(experiment.data, Cifar10)
        assert 0 < expected_seconds(experiment)["bfloat16"] < 30 * 60


@pytest.mark.parametrize("size", ["laptop", "tiny"])
@pytest.mark.parametrize("name", PRESETS)
def test_smaller_models_run(name: str, size: Any):
    model = make_experiment(name, size).model.build()
    assert model(torch.zeros(2, 3, *model.config.image_size)).shape == (2, model.config.num_classes)


def test_networks_for_imagenet_learn_cifar_in_size_laptop():
    """A SAN keeps all pixels in its first stage, and the ResNet beside it ends as wide."""
    published = make_experiment("san15-patchwise")
    san, resnet = laptop(published), laptop(make_experiment("resnet38"))
    assert isinstance(san.model, SANConfig)
    assert isinstance(published.model, SANConfig)
    assert san.data == resnet.data == Cifar10()
    assert san.model.attention == published.model.attention
    assert san.model.grids == ((32, 32), (16, 16), (8, 8), (4, 4))
    assert san.model.channels == (32, 64, 128, 256)
    assert resnet.model.build().classifier.in_features == 256
    assert san.training == resnet.training
    rate = published.training.optimizer.learning_rate
    assert san.training.optimizer.learning_rate == pytest.approx(rate * 100 / 256)


def test_photographs_shrink_in_size_laptop():
    published = make_experiment("intel-san15-patchwise")
    smaller = laptop(published)
    assert smaller.data == replace(published.data, image_size=(64, 64))  # type: ignore[type-var]
    assert (smaller.model.image_size, smaller.model.num_classes) == ((64, 64), 6)
    assert smaller.training.num_epochs == LAPTOP.num_folder_epochs
    assert smaller.training.optimizer == AdamW(learning_rate=4e-4, weight_decay=1e-4)


def test_a_pruned_network_can_be_made_smaller():
    experiment = make_experiment("quadratic-generalized")
    assert isinstance(experiment.model, FullyAttentionalConfig)
    pruned = replace(experiment, model=replace(experiment.model, heads_per_layer=(2, 4, 1, 2, 6, 3)))
    smaller = laptop(pruned).model
    assert isinstance(smaller, FullyAttentionalConfig)
    assert smaller.heads_per_layer == (2, 4, 1, 2, 6, 3)[: LAPTOP.num_layers]
    smaller.build()


def test_shorter_trainings_lower_their_rate_at_the_same_share_of_the_way():
    short = shorten(make_experiment("resnet18"), 30).training
    assert short.num_epochs == 30
    assert short.schedule == MultiStep(epochs=(8, 15, 25))
    assert shorten(make_experiment("resnet18"), 1).training.schedule == MultiStep(epochs=(1,))


def test_the_model_follows_the_images(tmp_path: Path):
    experiment = make_experiment("learned")
    assert for_data(experiment, Cifar100()).model.num_classes == 100
    for name in ("cat", "dog", "owl"):
        (tmp_path / "train" / name).mkdir(parents=True)
    model = for_data(experiment, ImageFolder(tmp_path, image_size=(24, 40))).model
    assert (model.num_classes, model.image_size, model.num_channels) == (3, (24, 40), 3)


def test_laptops_use_bfloat16_where_it_is_fast(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    for supported, precision in ((True, "bfloat16"), (False, "float32")):
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda supported=supported: supported)
        assert hardware.fast_precision() == precision
        assert laptop(make_experiment("quadratic")).training.precision == precision
        assert tiny(make_experiment("quadratic")).training.precision == "float32"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    for capability, precision in (((7, 5), "float32"), ((8, 0), "bfloat16"), ((9, 0), "bfloat16")):
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda capability=capability: capability)
        assert hardware.fast_precision() == precision
