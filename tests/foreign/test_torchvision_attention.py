"""The attention of torchvision's vision transformers, which are built on `nn.MultiheadAttention`."""

from importlib.util import find_spec

import pytest
import torch

from headgrid.analysis import record_attention
from headgrid.interop.foreign_model import open_foreign_model
from headgrid.interop.foreign_model.torchvision_import import import_torchvision

if find_spec("torchvision") is None:
    pytest.skip("torchvision is not installed", allow_module_level=True)
torchvision = import_torchvision()
pytestmark = pytest.mark.foreign


@torch.no_grad()
def test_weights_of_the_equations():
    torch.manual_seed(0)
    model = torchvision.models.VisionTransformer(
        image_size=48, patch_size=16, num_layers=2, num_heads=4, hidden_dim=32, mlp_dim=64, num_classes=5
    ).eval()
    for parameter in model.parameters():
        parameter.add_(0.1 * torch.randn_like(parameter))
    images = torch.randn(3, 3, 48, 48)
    record = record_attention(model, images)
    names = [f"encoder.layers.encoder_layer_{index}.self_attention" for index in range(2)]
    assert list(record.layers) == names
    assert torch.equal(record.output, model(images))
    tokens = torch.cat([model.class_token.expand(3, -1, -1), model._process_input(images)], dim=1)
    tokens = tokens + model.encoder.pos_embedding
    for block, layer in zip(model.encoder.layers, record, strict=True):
        attention, inputs = block.self_attention, block.ln_1(tokens)
        projected = inputs @ attention.in_proj_weight.T + attention.in_proj_bias
        query, key, _ = (part.unflatten(-1, (4, 8)).transpose(1, 2) for part in projected.chunk(3, dim=-1))
        weights = torch.softmax(query @ key.mT / 8**0.5, dim=-1)
        assert (layer.grid, layer.tokens.num_tokens, layer.placement.pixel_size) == ((3, 3), 1, (16.0, 16.0))
        torch.testing.assert_close(layer.matrix(), weights, rtol=1e-4, atol=1e-5)
        tokens = block(tokens)


@torch.no_grad()
def test_by_name():
    model = open_foreign_model("torchvision:vit_b_32,weights=random")
    assert model.image_size == (224, 224)
    record = record_attention(model.original, torch.randn(1, 3, 224, 224))
    assert len(record) == 12
    for layer in record:
        assert (layer.grid, layer.num_heads, layer.tokens.num_tokens) == ((7, 7), 12, 1)
        sums = layer.matrix().sum(dim=-1)
        torch.testing.assert_close(sums, torch.ones_like(sums))


def test_windows_and_convolutions():
    with pytest.raises(ValueError, match="within windows"):
        record_attention(torchvision.models.swin_t(weights=None), torch.randn(1, 3, 224, 224))
    with pytest.raises(ValueError, match="no attention of ResNet can be recorded: it calls neither"):
        record_attention(torchvision.models.resnet18(weights=None), torch.randn(1, 3, 64, 64))
