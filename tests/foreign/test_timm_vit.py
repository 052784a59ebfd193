"""Translated vision transformers beside timm's own: the same logits, also for images of another size."""

from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import pytest
import torch

from headgrid.interop.foreign_model.torchvision_import import import_torchvision
from headgrid.interop.timm_vit import translate

if find_spec("torchvision"):
    import_torchvision()  # timm imports it, which fails where torchvision was built for another torch
timm = pytest.importorskip("timm")
pytestmark = pytest.mark.foreign


@dataclass(frozen=True)
class Case:
    """A model of timm, with random weights."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    num_heads: int | None = None
    """What the weights do not tell."""


SMALL = {"embed_dim": 48, "depth": 3, "num_heads": 4, "img_size": 64, "num_classes": 7}
CASES = {
    "ViT-Ti": Case("vit_tiny_patch16_224"),
    "ViT-S, patches of 32": Case("vit_small_patch32_224"),
    "ViT-B": Case("vit_base_patch16_224", {"depth": 2}),
    "DeiT-Ti": Case("deit_tiny_patch16_224"),
    "DeiT-S": Case("deit_small_patch16_224", {"depth": 4}),
    "mean": Case("vit_tiny_patch16_224", SMALL | {"global_pool": "avg"}, 4),
    "mean, norm before": Case(
        "vit_tiny_patch16_224", SMALL | {"global_pool": "avg", "fc_norm": False, "class_token": False}, 4
    ),
    "mean, no class token": Case("vit_tiny_patch16_224", SMALL | {"global_pool": "avg", "class_token": False}, 4),
    "class token without a position": Case("vit_tiny_patch16_224", SMALL | {"no_embed_class": True}, 4),
    "no bias of query, key and value": Case("vit_tiny_patch16_224", SMALL | {"qkv_bias": False}, 4),
    "other widths": Case("vit_tiny_patch16_224", SMALL | {"mlp_ratio": 2.5, "in_chans": 1, "patch_size": 8}, 4),
}


def _make(case: Case, **options: Any) -> torch.nn.Module:
    """In eval mode, with no weight as it starts: many start at zero."""
    torch.manual_seed(0)
    model = timm.create_model(case.name, **(case.options | options)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return model


def _close(ours: torch.Tensor, theirs: torch.Tensor) -> None:
    assert (ours - theirs).abs().max() <= 1e-4 * theirs.abs().max().clamp_min(1)


@pytest.mark.parametrize("name", CASES)
@torch.no_grad()
def test_same_logits(name):
    case = CASES[name]
    original = _make(case)
    model = translate(original.state_dict(), case.num_heads)
    images = torch.randn(2, model.config.num_channels, *model.config.image_size)
    assert model.config.attention.num_heads == original.blocks[0].attn.num_heads
    assert sum(p.numel() for p in original.parameters()) <= sum(p.numel() for p in model.parameters())
    _close(model(images), original(images))
    _close(model(images, record=True)[0], original(images))


@pytest.mark.parametrize("size", [(96, 32), (48, 64)])
@pytest.mark.parametrize("name", ["mean", "mean, no class token", "class token without a position"])
@torch.no_grad()
def test_same_logits_on_images_of_another_size(name, size):
    """timm resizes its positions when it loads weights into a model for other images."""
    case = CASES[name]
    state = _make(case).state_dict()
    other = _make(case, img_size=size)
    other.load_state_dict(timm.models.vision_transformer.checkpoint_filter_fn(dict(state), other))
    model = translate(state, case.num_heads, image_size=size)
    images = torch.randn(2, 3, *size)
    _close(model(images), other(images))


@torch.no_grad()
def test_attention_weights_are_those_of_timm():
    """Read from timm's blocks, whose explicit path keeps the maps only for a moment."""
    case = CASES["class token without a position"]
    original = _make(case)
    maps = []
    for block in original.blocks:
        block.attn.fused_attn = False
        block.attn.attn_drop.register_forward_hook(lambda _module, _inputs, output: maps.append(output))
    images = torch.randn(2, 3, 64, 64)
    original(images)
    _, attention = translate(original.state_dict(), case.num_heads)(images, record=True)
    assert len(maps) == len(attention) == 3
    for theirs, ours in zip(maps, attention.values(), strict=True):
        torch.testing.assert_close(ours.weights, theirs, rtol=1e-4, atol=1e-5)


REFUSED = {
    "deit_tiny_distilled_patch16_224": "distilled DeiT",
    "deit3_small_patch16_224": "layer scale",
    "vit_tiny_patch16_224 with registers": "register tokens",
    "vit_tiny_patch16_224 with normalised queries": "normalised queries",
    "vit_small_patch14_dinov2": "layer scale",
    "vit_giant_patch14_dinov2": "layer scale",
    "vit_base_patch16_siglip_224": "pooling by attention",
    "vit_base_patch32_clip_224": "in front of the first block",
    "vit_small_r26_s32_224": "several convolutions",
    "vit_relpos_small_patch16_224": "relative positions",
    "beit_base_patch16_224": "layer scale",
}
OPTIONS = {"with registers": {"reg_tokens": 2}, "with normalised queries": {"qk_norm": True}}


@pytest.mark.parametrize("name", REFUSED)
def test_other_vision_transformers_are_refused_with_the_entry_s_name(name):
    architecture, _, what = name.partition(" ")
    with torch.device("meta"):
        state = timm.create_model(architecture, depth=1, **OPTIONS.get(what, {})).state_dict()
    with pytest.raises(ValueError, match=rf"entry \S+ of the weights belongs to .*{REFUSED[name]}"):
        translate(state)
