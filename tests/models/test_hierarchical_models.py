"""Hierarchical attention in whole models: against loops written out by hand, and what a kept key saves."""

from collections import Counter
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from headgrid.attention import (
    DropoutPerImage,
    FullHeads,
    MultiheadAttentionConfig,
    PairwiseAttentionConfig,
    PatchwiseAttentionConfig,
    TokenAttentionConfig,
)
from headgrid.evaluation.complexity import model_cost
from headgrid.layers import MeanOfTokens, NoFinalNorm
from headgrid.models import FullyAttentionalConfig, HierarchicalSANConfig, ResNetStemConfig, ViTConfig
from headgrid.ops import Footprint
from headgrid.scores import ContentConfig, QueryPositionConfig
from headgrid.stacks import (
    Hierarchical,
    KeptKey,
    OfAllPasses,
    OwnKeys,
    OwnWeights,
    Plain,
    ReportBlockConfig,
    ReportViTBlockConfig,
    SharedWeights,
)

SIZE, GRID, PASSES = (8, 12), (4, 6), 3
HEADS, DIM, SAN_DIM = 2, 8, 32


def _ha_san(attention):
    return HierarchicalSANConfig(
        attention=attention(footprint=Footprint(3), bias=False),
        num_passes=PASSES,
        channels=SAN_DIM,
        pixel_concatenation=2,
        image_size=SIZE,
    )


FAMILIES = {
    "attention-only": FullyAttentionalConfig(
        dim=DIM,
        num_layers=PASSES,
        attention=MultiheadAttentionConfig(
            num_heads=HEADS, scores=(QueryPositionConfig(), ContentConfig()), dropout=DropoutPerImage(0.0)
        ),
        block=ReportBlockConfig(hidden_dim=7),
        stack=Hierarchical(),
        image_size=SIZE,
    ),
    "vit": ViTConfig(
        dim=DIM,
        num_layers=PASSES,
        stem=ResNetStemConfig(width=4, num_blocks=1),
        attention=TokenAttentionConfig(num_heads=HEADS, heads=FullHeads(), bias=False),
        block=ReportViTBlockConfig(hidden_dim=7),
        stack=Hierarchical(),
        pooling=MeanOfTokens(),
        final_norm=NoFinalNorm(),
        image_size=SIZE,
        num_classes=10,
    ),
    "ha-san pairwise": _ha_san(PairwiseAttentionConfig),
    "ha-san patchwise": _ha_san(PatchwiseAttentionConfig),
}
EVERY_FAMILY = pytest.mark.parametrize("family", FAMILIES)
COMBINATIONS = pytest.mark.parametrize(
    "weights", [SharedWeights(OfAllPasses()), OwnWeights()], ids=["shared", "own"]
)
KEYS = pytest.mark.parametrize("key", [KeptKey(), OwnKeys()], ids=["kept key", "own keys"])


def _build(config):
    """In float64, every parameter away from where it starts."""
    torch.manual_seed(0)
    model = config.build().double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def _images():
    return torch.randn(3, 3, *SIZE, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def _by_hand(model, images, keys=None):
    """The model's logits, and the key that each application used; ``keys`` are used in place of its own."""
    config = model.config
    hierarchical_san = isinstance(config, HierarchicalSANConfig)
    per_pass = config.blocks_per_pass if hierarchical_san else 1
    num_applications = PASSES * per_pass
    if isinstance(config.stack.weights, SharedWeights):
        blocks = [model.stack.shared[number % per_pass] for number in range(num_applications)]
    else:
        blocks = [model.stack.blocks[number] for number in range(num_applications)]
    if hierarchical_san:
        values = model.stem_norm(model.stem(model.pixel_concatenation(images)))
    elif isinstance(config, ViTConfig):
        values = model.positions(model.stem(images))
    else:
        values = model.embedding(model.pixel_concatenation(images))
    used = []
    for number, block in enumerate(blocks):
        if hierarchical_san and number % per_pass == 0:
            values = model.transitions[number // per_pass](values)
        if keys is not None:
            key = keys[number]
        elif number > 0 and isinstance(config.stack.key, KeptKey):
            key = used[0]
        else:
            key = None
        values, attended = block(values, key)
        used.append(attended.key)
        if hierarchical_san and number % per_pass == per_pass - 1:
            values = model.norms[number // per_pass](values)
    return model.classifier(values), used


def _loss(logits):
    return F.cross_entropy(logits, torch.tensor([0, 3, 9]))


@EVERY_FAMILY
@COMBINATIONS
@KEYS
@pytest.mark.parametrize("training", [True, False], ids=["training", "eval"])
def test_equals_a_loop_written_out_by_hand(family, weights, key, training):
    """All four combinations: logits, the gradient of every parameter, and what the norms count."""
    config = replace(FAMILIES[family], stack=Hierarchical(weights, key))
    model, twin = (_build(config).train(training) for _ in range(2))
    logits, expected = model(_images()), _by_hand(twin, _images())[0]
    torch.testing.assert_close(logits, expected, rtol=1e-12, atol=1e-12)
    ours = torch.autograd.grad(_loss(logits), list(model.parameters()))
    theirs = torch.autograd.grad(_loss(expected), list(twin.parameters()))
    for name, gradient, other in zip(dict(model.named_parameters()), ours, theirs, strict=True):
        torch.testing.assert_close(gradient, other, rtol=1e-9, atol=1e-12, msg=name)
    for (name, buffer), other in zip(model.named_buffers(), twin.buffers(), strict=True):
        torch.testing.assert_close(buffer, other, msg=name)


@EVERY_FAMILY
@COMBINATIONS
@KEYS
def test_one_pass_is_the_plain_model(family, weights, key):
    passes = {"num_passes": 1, "blocks_per_pass": 1} if family.startswith("ha-san") else {"num_layers": 1}
    config = replace(FAMILIES[family], **passes)
    plain = _build(replace(config, stack=Plain()))
    model = _build(replace(config, stack=Hierarchical(weights, key)))
    state = {name.replace("stack.blocks.0", "stack.shared.0"): value for name, value in plain.state_dict().items()}
    model.load_state_dict(state if isinstance(weights, SharedWeights) else plain.state_dict())
    logits, expected = model(_images()), plain(_images())
    assert torch.equal(logits, expected)
    ours = torch.autograd.grad(_loss(logits), list(model.parameters()))
    theirs = torch.autograd.grad(_loss(expected), list(plain.parameters()))
    assert all(torch.equal(gradient, other) for gradient, other in zip(ours, theirs, strict=True))


@EVERY_FAMILY
@COMBINATIONS
def test_the_gradient_of_the_kept_key_is_the_sum_over_all_its_uses(family, weights):
    """Each application on a copy of the key gives a part; the projection's gradient follows by the chain rule."""
    model = _build(replace(FAMILIES[family], stack=Hierarchical(weights, KeptKey())))
    logits, used = _by_hand(model, _images())
    (kept,) = torch.autograd.grad(_loss(logits), used[0], retain_graph=True)
    copies = [used[0].detach().clone().requires_grad_() for _ in used]
    parts = torch.autograd.grad(_loss(_by_hand(model, _images(), copies)[0]), copies)
    assert all(part.abs().max() > 0 for part in parts)
    torch.testing.assert_close(kept, sum(parts))

    name = next(name for name, _ in model.named_parameters() if name.endswith(("key.weight", "psi.weight")))
    weight = model.get_parameter(name)
    (through_the_key,) = torch.autograd.grad(used[0], weight, sum(parts), retain_graph=True)
    _loss(model(_images())).backward()
    torch.testing.assert_close(weight.grad, through_the_key)


@EVERY_FAMILY
@COMBINATIONS
def test_a_kept_key_is_projected_once(family, weights):
    """Recorded, for there each projection of a SAN is a call of its own; both paths multiply as often."""
    num_blocks = PASSES * (2 if family.startswith("ha-san") else 1)
    for key, expected in ((KeptKey(), 1), (OwnKeys(), num_blocks)):
        model = _build(replace(FAMILIES[family], stack=Hierarchical(weights, key)))
        calls = Counter()
        for name, module in model.named_modules():
            part = name.rpartition(".")[2]
            if part in ("key", "query", "psi", "phi"):
                module.register_forward_hook(lambda *_, part=part, calls=calls: calls.update([part]))
        model(_images(), record=True)
        assert sorted(calls.values()) == sorted([expected, num_blocks])
        assert calls["psi" if family.startswith("ha-san") else "key"] == expected


@EVERY_FAMILY
@COMBINATIONS
def test_a_kept_key_saves_all_key_projections_but_one(family, weights):
    kept, own = (
        model_cost(_build(replace(FAMILIES[family], stack=Hierarchical(weights, key))).float(), SIZE)
        for key in (KeptKey(), OwnKeys())
    )
    pixels = GRID[0] * GRID[1]
    if family.startswith("ha-san"):
        saved = (2 * PASSES - 1) * pixels * SAN_DIM * (SAN_DIM // 16)
    else:
        tokens = pixels + (family == "vit")
        saved = (PASSES - 1) * tokens * DIM * (HEADS * DIM)
    assert own.linear_macs - kept.linear_macs == saved
    assert own.macs - kept.macs == saved
    assert own.executed_macs - kept.executed_macs == saved


@pytest.mark.parametrize("family", ["attention-only", "vit"])
@KEYS
def test_the_number_of_passes_is_free_at_inference_time(family, key):
    config = replace(FAMILIES[family], stack=Hierarchical(SharedWeights(), key))
    model = _build(config).eval()
    for num_passes in (1, 5):
        longer = _build(replace(config, num_layers=num_passes)).eval()
        longer.load_state_dict(model.state_dict())
        model.stack.num_passes = num_passes
        logits, attention = model(_images(), record=True)
        assert torch.equal(logits, longer(_images(), record=True)[0])
        assert list(attention) == [f"stack.blocks.{number}.attention" for number in range(num_passes)]


def test_the_number_of_passes_of_ha_san_is_that_of_its_norms():
    model = _build(FAMILIES["ha-san pairwise"])
    model.stack.num_passes = 5
    with pytest.raises(ValueError, match="the number of passes of this network cannot change: each of its 3 has"):
        model(_images())
