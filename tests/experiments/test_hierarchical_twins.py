"""The hierarchical twins of experiments: what changes, what stays, and what has no twin."""

from dataclasses import replace

import pytest
import torch

from headgrid.data import Cifar100
from headgrid.experiments import PRESETS, for_data, hierarchical, make_experiment
from headgrid.experiments.sizes import SIZES, laptop, tiny
from headgrid.models import (
    Corrected,
    FullyAttentionalConfig,
    HierarchicalSANConfig,
    ResNetConfig,
    SANConfig,
    ViTConfig,
)
from headgrid.ops import Footprint
from headgrid.stacks import Hierarchical, KeptKey, OwnKeys, OwnWeights, Plain, SharedWeights

COMBINATIONS = [(weights, key) for weights in (SharedWeights(), OwnWeights()) for key in (KeptKey(), OwnKeys())]
WITH_ATTENTION = [name for name in PRESETS if not isinstance(make_experiment(name).model, ResNetConfig)]


@pytest.mark.parametrize("name", WITH_ATTENTION)
def test_every_preset_with_attention_has_a_twin_in_every_size(name: str):
    """Everything but the model and the name stays; the smallest is tried out."""
    twin = hierarchical(make_experiment(name))
    assert twin.name == f"{name}-shared-weights-kept-key"
    assert replace(twin, name=name, model=make_experiment(name).model) == make_experiment(name)
    with torch.device("meta"):
        for size in SIZES.values():
            model = size(twin).model
            assert not isinstance(model, ResNetConfig)
            assert model.stack == Hierarchical(SharedWeights(), KeptKey())
            model.build()
        model = tiny(twin).model
        assert model.build()(torch.zeros(2, 3, *model.image_size)).shape == (2, model.num_classes)


@pytest.mark.parametrize("name", ["learned-content", "san10-pairwise", "report-san-patchwise", "report-vit"])
@pytest.mark.parametrize(("weights", "key"), COMBINATIONS)
def test_the_four_combinations(name: str, weights: SharedWeights | OwnWeights, key: KeptKey | OwnKeys):
    twin = hierarchical(make_experiment(name), weights=weights, key=key)
    for size in (laptop, tiny):
        model = size(twin).model
        assert not isinstance(model, ResNetConfig)
        assert model.stack == Hierarchical(weights, key)
    assert twin.name.removeprefix(name) in {
        "-shared-weights-kept-key",
        "-shared-weights-own-keys",
        "-own-weights-kept-key",
        "-own-weights-own-keys",
    }
    assert len({hierarchical(make_experiment(name), weights=w, key=k).name for w, k in COMBINATIONS}) == 4


def test_own_weights_and_own_keys_are_the_plain_model():
    plain = make_experiment("learned-content")
    twin = hierarchical(plain, weights=OwnWeights(), key=OwnKeys())
    with torch.device("meta"):
        ours, expected = twin.model.build(), plain.model.build()
    assert [(name, tensor.shape) for name, tensor in ours.state_dict().items()] == [
        (name, tensor.shape) for name, tensor in expected.state_dict().items()
    ]


def test_smaller_sizes_of_twins_have_as_many_blocks_pixels_and_channels_as_the_plain_model():
    for name in ("quadratic", "learned-content", "learned-content-report-block", "report-vit", "vit-cifar"):
        plain = make_experiment(name)
        for size in (laptop, tiny):
            model = size(hierarchical(plain)).model
            assert isinstance(model, FullyAttentionalConfig | ViTConfig)
            assert replace(model, stack=Plain()) == size(plain).model
            assert model == hierarchical(size(plain)).model
            assert size(hierarchical(plain)).training == size(plain).training


def test_a_san_is_hierarchical_within_its_stages():
    twin = hierarchical(make_experiment("san10-pairwise")).model
    assert isinstance(twin, SANConfig)
    model = tiny(hierarchical(make_experiment("san10-pairwise"))).model.build()
    _, attention = model(torch.randn(1, 3, 32, 32), record=True)
    keys = [[output.key for name, output in attention.items() if f"stages.{stage}." in name] for stage in range(3)]
    assert [len(stage) for stage in keys] == [2, 1, 2]
    assert [len({id(key) for key in stage}) for stage in keys] == [1, 1, 1]
    assert len([name for name, _ in model.named_parameters() if name.endswith("beta.weight")]) == 3


def test_the_twin_of_the_reports_san_is_the_reports_network():
    published = for_data(make_experiment("report-san-patchwise"), Cifar100())
    twin = hierarchical(published, key=OwnKeys()).model
    assert isinstance(twin, HierarchicalSANConfig)
    assert isinstance(published.model, SANConfig)
    assert twin.attention.footprint == Footprint(3)
    assert not twin.attention.bias
    assert replace(twin.attention, footprint=published.model.attention.footprint, bias=True) == (
        published.model.attention
    )
    assert (twin.form, twin.num_passes, twin.blocks_per_pass, twin.channels) == (Corrected(), 4, 2, 256)
    assert (twin.num_classes, twin.image_size, twin.pixel_concatenation) == (100, (32, 32), 1)


def test_a_hierarchical_model_gets_another_combination():
    published = make_experiment("report-san-pairwise-hierarchical")
    twin = hierarchical(published, weights=OwnWeights(), name="mine")
    assert isinstance(published.model, HierarchicalSANConfig)
    stack = Hierarchical(OwnWeights(), KeptKey())
    assert twin == replace(published, name="mine", model=replace(published.model, stack=stack))


@pytest.mark.parametrize("name", ["resnet18", "resnet50"])
def test_a_resnet_has_no_twin(name: str):
    with pytest.raises(ValueError, match=f"{name} has no hierarchical twin: a ResNet has no attention"):
        hierarchical(make_experiment(name))


@pytest.mark.parametrize("name", ["san15-pairwise", "report-san-pairwise"])
def test_a_san_that_lost_stages_has_no_twin(name: str):
    with pytest.raises(ValueError, match="make the twin of size paper, and its smaller size afterwards"):
        hierarchical(make_experiment(name, "laptop"))
