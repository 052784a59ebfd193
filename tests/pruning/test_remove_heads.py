"""A model without some heads computes what the whole one would if they contributed nothing."""

from dataclasses import replace

import pytest
import torch

from headgrid.attention import (
    GatedPositionalAttentionConfig,
    HeadsOfWidth,
    MultiheadAttentionConfig,
    PairwiseAttentionConfig,
)
from headgrid.models import CompiledConfig, FullyAttentionalConfig, HierarchicalSANConfig, ResNetConfig, SANConfig
from headgrid.ops import Footprint
from headgrid.pruning import gated_heads, prunable_layers, remove_heads
from headgrid.scores import GeneralizedQuadraticConfig

from .models import CONFIGS, HIERARCHICAL, NUM_HEADS, random_images, random_model

REMOVED = {
    "stack.blocks.0.attention": (1,),
    "stack.blocks.1.attention": (0, 1, 2, 3),
    "stack.blocks.2.attention": (3, 0),
}


def with_zeroed_heads(model, removed, images):
    """The logits of the whole model in which heads are multiplied by zero."""
    layers = prunable_layers(model)
    gates = {layer.name: torch.ones(layer.num_heads) for layer in layers}
    for name, heads in removed.items():
        gates[name][list(heads)] = 0
    with gated_heads(layers, gates):
        return model(images)


def without_output_matrices(model, removed):
    """The whole model with W^(h) = 0 for the removed heads, written into the output matrix by hand."""
    for name, heads in removed.items():
        for number in range(3):
            if name in (f"stack.blocks.{number}.attention", "stack.blocks.*.attention"):
                mixing = model.stack.blocks[number].attention.mixing
                with torch.no_grad():
                    for head in heads:
                        mixing.weight.unflatten(1, (NUM_HEADS, -1))[:, head].zero_()
    return model


@pytest.mark.parametrize("name", CONFIGS)
@torch.no_grad()
def test_what_is_left_computes_the_rest(name):
    model, images = random_model(CONFIGS[name]), random_images()
    whole = model(images)
    smaller = remove_heads(model, REMOVED)
    assert torch.equal(model(images), whole)
    found = smaller(images)
    assert (found - whole).abs().max() > 1e-3
    torch.testing.assert_close(found, with_zeroed_heads(model, REMOVED, images), rtol=1e-10, atol=1e-11)
    torch.testing.assert_close(found, without_output_matrices(model, REMOVED)(images), rtol=1e-10, atol=1e-11)
    recorded, record = smaller(images, record=True)
    torch.testing.assert_close(recorded, found, rtol=1e-10, atol=1e-11)
    assert [output.weights.shape[1] for output in record.values()] == [3, 0, 2]


@pytest.mark.parametrize("name", HIERARCHICAL)
@torch.no_grad()
def test_all_passes_lose_the_same_heads(name):
    model, images = random_model(HIERARCHICAL[name]), random_images()
    (layer,) = prunable_layers(model)
    assert layer.name == "stack.blocks.*.attention"
    for heads in ((2,), (0, 3), (0, 1, 2, 3)):
        removed = {layer.name: heads}
        smaller = remove_heads(model, removed)
        expected = with_zeroed_heads(model, removed, images)
        torch.testing.assert_close(smaller(images), expected, rtol=1e-10, atol=1e-11)
        assert smaller.config.heads_of_layers == (NUM_HEADS - len(heads),) * 3
    torch.testing.assert_close(smaller(images), without_output_matrices(model, removed)(images))


@pytest.mark.parametrize("name", CONFIGS | HIERARCHICAL)
def test_the_config_builds_the_smaller_model(name):
    model = random_model((CONFIGS | HIERARCHICAL)[name])
    removed = {layer.name: (2, 0) for layer in prunable_layers(model)}
    smaller = remove_heads(model, removed)
    fresh = smaller.config.build()
    assert count(fresh) == count(smaller) < count(model)
    assert {n: p.shape for n, p in fresh.named_parameters()} == {n: p.shape for n, p in smaller.named_parameters()}


@pytest.mark.parametrize("name", CONFIGS | HIERARCHICAL)
def test_once_more_from_the_smaller_model(name):
    """Heads are counted anew: without 0 and 2, number 1 is the head that was 3."""
    model = random_model((CONFIGS | HIERARCHICAL)[name])
    place = prunable_layers(model)[0].name
    twice = remove_heads(remove_heads(model, {place: (2, 0)}), {place: (1,)})
    once = remove_heads(model, {place: (0, 2, 3)})
    assert twice.config == once.config
    assert twice.state_dict().keys() == once.state_dict().keys()
    assert all(torch.equal(tensor, once.state_dict()[name]) for name, tensor in twice.state_dict().items())


def count(model) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def test_the_published_number_of_parameters():
    """Appendix A.1: [2, 4, 1, 2, 6, 0] heads were removed from the first to the last layer, 9.7M are left."""
    attention = MultiheadAttentionConfig(num_heads=9, scores=(GeneralizedQuadraticConfig(),))
    model = FullyAttentionalConfig(attention=attention).build()
    removed = {f"stack.blocks.{layer}.attention": range(number) for layer, number in enumerate((2, 4, 1, 2, 6, 0))}
    smaller = remove_heads(model, removed)
    assert count(model) == 12_087_006
    assert count(smaller) == 9_686_916
    assert smaller.config.heads_per_layer == (7, 5, 8, 7, 3, 9)


def test_heads_stay_as_wide_as_they_were():
    smaller = remove_heads(random_model(CONFIGS["split"]), REMOVED)
    assert smaller.config.attention.heads == HeadsOfWidth(2)
    assert smaller.config.heads_per_layer == (3, 0, 2)
    assert remove_heads(smaller, {}).config == smaller.config


def test_modes_and_types_are_kept():
    model = random_model(CONFIGS["gated"]).float().train()
    before = torch.random.get_rng_state()
    smaller = remove_heads(model, {"stack.blocks.0.attention": (0,)})
    assert torch.equal(torch.random.get_rng_state(), before)
    assert smaller.training
    assert next(smaller.parameters()).dtype == torch.float32
    assert isinstance(smaller.config.attention, GatedPositionalAttentionConfig)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (SANConfig(blocks_per_stage=(1,), channels=(32,), footprints=(3,), poolings=(2,)), "a SAN has no heads"),
        (
            HierarchicalSANConfig(PairwiseAttentionConfig(footprint=Footprint(3)), channels=32, num_passes=2),
            "a SAN has no heads to remove: its weights are vectors",
        ),
        (ResNetConfig(blocks_per_stage=(1,), width=4), "a ResNet has no attention heads"),
        (CompiledConfig(FullyAttentionalConfig(dim=8, num_layers=1)), "prune the model that it was made of"),
    ],
)
def test_models_that_have_none_say_so(config, message):
    with pytest.raises(ValueError, match=message):
        prunable_layers(config.build())


def test_heads_that_are_not_there():
    model = random_model(CONFIGS["quadratic"])
    with pytest.raises(ValueError, match="has no head 4: it has 4, counted from 0"):
        remove_heads(model, {"stack.blocks.0.attention": (4,)})
    with pytest.raises(ValueError, match=r"no layer 'stack\.blocks\.7\.attention' that could lose heads"):
        remove_heads(model, {"stack.blocks.7.attention": (0,)})
    headless = remove_heads(model, REMOVED)
    assert prunable_layers(headless)[1].num_heads == 0
    assert replace(headless.config, heads_per_layer=None).heads_of_layers == (4, 4, 4)
