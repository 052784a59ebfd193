"""The attention of timm's models, seen from outside: the weights of timm's own explicit path."""

from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import pytest
import torch

from headgrid.analysis import measure_attention, record_attention
from headgrid.interop.foreign_model import open_foreign_model
from headgrid.interop.foreign_model.torchvision_import import import_torchvision

if find_spec("torchvision"):
    import_torchvision()  # timm imports it, which fails where torchvision was built for another build of torch
timm = pytest.importorskip("timm")
pytestmark = pytest.mark.foreign


@dataclass(frozen=True)
class Case:
    """A model of timm with random weights, small, and what its layers look like."""

    name: str
    grid: tuple[int, int]
    num_tokens: int
    num_heads: int = 3
    options: dict[str, Any] = field(default_factory=dict)


SIZES = {"img_size": (48, 80), "depth": 2, "embed_dim": 48, "num_heads": 3}
CASES = {
    "ViT": Case("vit_tiny_patch16_224", (3, 5), 1, options=SIZES),
    "ViT without a class token": Case(
        "vit_tiny_patch16_224", (3, 5), 0, options=SIZES | {"class_token": False, "global_pool": "avg"}
    ),
    "DeiT": Case("deit_tiny_patch16_224", (3, 5), 1, options=SIZES),
    "distilled DeiT": Case("deit_tiny_distilled_patch16_224", (3, 5), 2, options=SIZES),
    "DeiT-3": Case("deit3_small_patch16_224", (3, 5), 1, options=SIZES),
    "DINO": Case("vit_small_patch8_224.dino", (6, 10), 1, options=SIZES),
    "DINOv2": Case("vit_small_patch14_dinov2", (3, 5), 1, options=SIZES | {"img_size": (42, 70)}),
    "DINOv2 with registers": Case(
        "vit_small_patch14_reg4_dinov2", (3, 5), 5, options=SIZES | {"img_size": (42, 70)}
    ),
    "normalised queries": Case("vit_tiny_patch16_224", (3, 5), 1, options=SIZES | {"qk_norm": True}),
    "after convolutions": Case("vit_tiny_r_s16_p8_224", (2, 3), 1, options=SIZES | {"img_size": (64, 96)}),
}


def make(case: Case) -> torch.nn.Module:
    """In eval mode, with weights far from the small ones that it starts with."""
    torch.manual_seed(0)
    model = timm.create_model(case.name, pretrained=False, num_classes=7, **case.options).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def images_for(case: Case) -> torch.Tensor:
    return torch.randn(2, 3, *case.options["img_size"], generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("name", CASES)
@torch.no_grad()
def test_the_weights_of_the_fused_path_are_those_of_the_explicit_one(name):
    case = CASES[name]
    model, images = make(case), images_for(case)
    record = record_attention(model, images)
    assert list(record.layers) == ["blocks.0.attn", "blocks.1.attn"]
    assert record.left_out == {}
    assert torch.equal(record.output, model(images))
    maps = []
    for block in model.blocks:
        assert block.attn.fused_attn, "timm takes the explicit path: then this shows nothing"
        block.attn.fused_attn = False
        block.attn.attn_drop.register_forward_hook(lambda _module, _inputs, output: maps.append(output))
    model(images)
    for layer, theirs in zip(record, maps, strict=True):
        assert (layer.grid, layer.num_heads) == (case.grid, case.num_heads)
        assert (0 if layer.tokens is None else layer.tokens.num_tokens) == case.num_tokens
        patch = case.options["img_size"][0] / case.grid[0]
        assert layer.placement.pixel_size == (patch, patch)
        torch.testing.assert_close(layer.matrix(), theirs, rtol=1e-4, atol=1e-5)
    explicit = record_attention(model, images)
    for layer, ours in zip(record, explicit, strict=True):
        torch.testing.assert_close(layer.matrix(), ours.matrix(), rtol=1e-4, atol=1e-5)


WINDOWS = {
    "swin_tiny_patch4_window7_224": r"layers\.0\.blocks\.0\.attn.*within windows",
    "swinv2_cr_tiny_224": r"stages\.0\.blocks\.0\.attn.*within windows",
}


@pytest.mark.parametrize("name", WINDOWS)
def test_attention_within_windows_is_an_error_that_says_so(name):
    model = timm.create_model(name, pretrained=False).eval()
    with pytest.raises(ValueError, match=WINDOWS[name]):
        record_attention(model, torch.randn(1, 3, 224, 224))


def test_no_attention_at_all():
    with pytest.raises(ValueError, match="no attention of ConvNeXt can be recorded: it calls neither"):
        record_attention(timm.create_model("convnext_atto", pretrained=False), torch.randn(1, 3, 64, 96))


@torch.no_grad()
def test_pooling_by_attention_is_named_and_the_rest_recorded():
    model = timm.create_model("vit_base_patch16_siglip_224", pretrained=False, depth=1, img_size=(48, 80))
    record = record_attention(model, torch.randn(2, 3, 48, 80))
    assert [(layer.name, layer.grid, layer.tokens) for layer in record] == [("blocks.0.attn", (3, 5), None)]
    assert record.left_out.keys() == {"attn_pool"}


@torch.no_grad()
def test_attention_between_the_pixels_of_convolutional_maps():
    model = timm.create_model("botnet26t_256", pretrained=False, img_size=128).eval()
    record = record_attention(model, torch.randn(2, 3, 128, 128))
    assert [(layer.grid, layer.placement.pixel_size) for layer in record] == [
        ((8, 8), (16.0, 16.0)),
        ((8, 8), (16.0, 16.0)),
        ((4, 4), (32.0, 32.0)),
    ]
    for layer in record:
        sums = layer.weights.sum(dim=(-2, -1))
        torch.testing.assert_close(sums, torch.ones_like(sums))


def test_by_name_and_measured():
    model = open_foreign_model("timm:vit_tiny_patch16_224,weights=random,img_size=(48,80),depth=2")
    measures = measure_attention(model.original, [torch.randn(2, 3, 48, 80)])
    assert [layer.layer for layer in measures.layers] == ["blocks.0.attn", "blocks.1.attn"]
    assert all(0 < head.token_share < 1 for head in measures.heads)
