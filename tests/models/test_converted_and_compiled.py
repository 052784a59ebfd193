"""Converted and compiled models survive a file: their configs rebuild what their weights fit into."""

import torch

import headgrid
from headgrid.attention import MultiheadAttentionConfig, ProjectedValues
from headgrid.experiments import save_model
from headgrid.models import CompiledConfig, ConvertedConfig, FullyAttentionalConfig, ResNetConfig
from headgrid.scores import GeneralizedQuadraticConfig, GridCenters
from headgrid.theory import CompiledAttention, ConvertedConvolution, compile_model, convert_network


def test_a_converted_network(tmp_path):
    torch.manual_seed(0)
    config = ResNetConfig(blocks_per_stage=(1, 1), width=8, image_size=(16, 24), num_classes=4)
    network = config.build().eval()
    images = torch.randn(2, 3, 16, 24)
    converted = convert_network(network).model
    converted.config = ConvertedConfig(config)
    assert (converted.config.image_size, converted.config.num_channels, converted.config.num_classes) == (
        (16, 24),
        3,
        4,
    )
    save_model(converted, tmp_path / "converted.safetensors")
    state = torch.get_rng_state()
    loaded = headgrid.load(tmp_path / "converted.safetensors")
    assert torch.equal(state, torch.get_rng_state())
    assert loaded.config == ConvertedConfig(config)
    assert sum(isinstance(module, ConvertedConvolution) for module in loaded.modules()) == 6
    torch.testing.assert_close(loaded(images), converted(images))


def test_a_compiled_model(tmp_path):
    torch.manual_seed(0)
    attention = MultiheadAttentionConfig(
        num_heads=9, scores=(GeneralizedQuadraticConfig(GridCenters(4.0)),), values=ProjectedValues(bias=True)
    )
    config = FullyAttentionalConfig(dim=12, num_layers=2, attention=attention, image_size=(20, 28), num_classes=4)
    model = config.build().eval()
    images = torch.randn(2, 3, 20, 28)
    compiled = compile_model(model, 1e-3, images)
    compiled.model.config = CompiledConfig.of(config, compiled.report)
    assert len(compiled.model.config.layers) == 2
    assert (compiled.model.config.image_size, compiled.model.config.num_classes) == ((20, 28), 4)
    save_model(compiled.model, tmp_path / "compiled.safetensors")
    loaded = headgrid.load(tmp_path / "compiled.safetensors")
    assert loaded.config == compiled.model.config
    assert all(isinstance(block.attention, CompiledAttention) for block in loaded.stack.blocks)
    torch.testing.assert_close(loaded(images), compiled.model(images))
    torch.testing.assert_close(loaded(images), model(images), rtol=0, atol=1e-2)
