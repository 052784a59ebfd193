"""The attention of classifiers of transformers, from folders that it saved, beside what it hands out itself."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

from headgrid.analysis import record_attention
from headgrid.interop.foreign_model import open_foreign_model
from headgrid.interop.foreign_model.torchvision_import import import_torchvision

if find_spec("torchvision"):
    import_torchvision()  # transformers imports it where it finds it
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.foreign

SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "num_labels": 5,
    "attn_implementation": "eager",
}
KINDS: dict[str, tuple[str, dict[str, Any], int]] = {
    "ViT": ("ViT", {"image_size": (48, 80), "patch_size": 16}, 1),
    "DeiT": ("DeiT", {"image_size": (48, 80), "patch_size": 16}, 2),
    "DINOv2": ("Dinov2", {"image_size": 48, "patch_size": 16}, 1),
    "DINOv2 with registers": (
        "Dinov2WithRegisters",
        {"image_size": 48, "patch_size": 16, "num_register_tokens": 3},
        4,
    ),
}


@pytest.fixture
def saved(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Path, int, tuple[int, int]]:
    """The folder of a small model with random weights, how many tokens it has, and the size of its images."""
    kind, options, num_tokens = KINDS[request.param]
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(**(SIZES | options))
    model = getattr(transformers, f"{kind}ForImageClassification")(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    model.save_pretrained(tmp_path / "model")
    size = options["image_size"]
    return tmp_path / "model", num_tokens, (size, size) if isinstance(size, int) else size


@pytest.mark.parametrize("saved", KINDS, indirect=True)
@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
@torch.no_grad()
def test_weights_are_those_that_it_hands_out(saved, implementation):
    folder, num_tokens, size = saved
    opened = open_foreign_model(f"hf:{folder}")
    assert opened.image_size == size
    model = opened.original
    images = torch.randn(2, 3, *size)
    model.set_attn_implementation("eager")
    theirs = model(images, output_attentions=True).attentions
    model.set_attn_implementation(implementation)
    record = record_attention(model, images)
    assert len(record) == len(theirs) == 2
    assert record.left_out == {}
    assert torch.equal(record.output.logits, model(images).logits)
    for layer, weights in zip(record, theirs, strict=True):
        assert (layer.grid, layer.num_heads) == ((3, size[1] // 16), 4)
        assert layer.tokens.num_tokens == num_tokens
        assert layer.placement.pixel_size == (16.0, 16.0)
        torch.testing.assert_close(layer.matrix(), weights, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_windows(tmp_path):
    config = transformers.SwinConfig(image_size=56, embed_dim=12, depths=[1, 1], num_heads=[2, 2], window_size=7)
    transformers.SwinForImageClassification(config).save_pretrained(tmp_path)
    model = open_foreign_model(f"hf:{tmp_path}")
    with pytest.raises(ValueError, match="within windows"):
        record_attention(model.original, torch.randn(1, 3, 56, 56))
