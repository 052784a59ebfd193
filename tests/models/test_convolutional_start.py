"""Attention-only models that start as convolutional networks, and gated ones that can leave them."""

import pytest
import torch

from headgrid.attention import GatedPositionalAttentionConfig, MultiheadAttentionConfig
from headgrid.experiments.serialization import model_from_yaml, model_to_yaml
from headgrid.models import FullyAttentionalConfig
from headgrid.scores import GridCenters, LearnedPositionConfig, QuadraticConfig
from headgrid.theory import ConvolutionalInitialization, attention_to_convolution

GATED = GatedPositionalAttentionConfig(num_heads=4, position=QuadraticConfig(GridCenters(3.0)), gate=0.5)


def _config(**options):
    return FullyAttentionalConfig(dim=16, num_layers=2, image_size=(12, 16), **options)


def test_a_gated_model_trains_and_records():
    torch.manual_seed(0)
    model = _config(attention=GATED).build()
    images = torch.randn(2, 3, 12, 16)
    model.eval()
    logits, attention = model(images, record=True)
    torch.testing.assert_close(logits, model(images), rtol=0, atol=1e-5)
    weights = attention["stack.blocks.1.attention"].weights
    assert weights.shape == (2, 4, 6, 8, 6, 8)
    torch.testing.assert_close(weights.sum(dim=(-2, -1)), torch.ones(2, 4, 6, 8))
    model.train()(images).square().sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_layers_start_as_convolutions():
    torch.manual_seed(0)
    model = _config(initialization=ConvolutionalInitialization(sharpness=25.0)).build()
    for block in model.stack.blocks:
        found = attention_to_convolution(block.attention, 1e-6)
        assert str(found.certificate.footprint) == "3 x 3"
    gated = _config(attention=GATED, initialization=ConvolutionalInitialization(7.0)).build()
    score = gated.stack.blocks[1].attention.position.terms[0]
    torch.testing.assert_close(score.sharpness, torch.full((4,), 7.0))


def test_the_start_is_the_same_for_the_same_seed():
    config = _config(initialization=ConvolutionalInitialization())
    models = []
    for _ in range(2):
        torch.manual_seed(3)
        models.append(config.build())
    for first, second in zip(*(model.parameters() for model in models), strict=True):
        assert torch.equal(first, second)


def test_layers_without_centres_cannot():
    attention = MultiheadAttentionConfig(scores=(LearnedPositionConfig(),))
    with pytest.raises(ValueError, match="one quadratic score"):
        _config(attention=attention, initialization=ConvolutionalInitialization()).build()


@pytest.mark.parametrize("attention", [GATED, MultiheadAttentionConfig()])
def test_survives_a_file(attention):
    config = _config(attention=attention, initialization=ConvolutionalInitialization(2.5))
    assert model_from_yaml(model_to_yaml(config)) == config
