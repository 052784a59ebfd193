"""Residual networks: sizes, any image, and a twin written as plain functions."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from headgrid.models import (
    BasicBlockConfig,
    BottleneckConfig,
    CifarStemConfig,
    ImageNetStemConfig,
    ResNetConfig,
)


def large(blocks: tuple[int, ...]) -> ResNetConfig:
    """A network of the SAN paper's comparison."""
    return ResNetConfig(blocks, block=BottleneckConfig(), stem=ImageNetStemConfig(), num_classes=1000)


@pytest.mark.parametrize(
    ("config", "num_parameters"),
    [
        (ResNetConfig(), 11_173_962),
        (large((1, 2, 4, 1)), 13_696_552),
        (large((2, 3, 5, 2)), 19_626_792),
        (large((3, 4, 6, 3)), 25_557_032),
    ],
)
def test_published_sizes(config: ResNetConfig, num_parameters: int) -> None:
    with torch.device("meta"):
        model = config.build()
    assert sum(parameter.numel() for parameter in model.parameters()) == num_parameters


BLOCKS = [BasicBlockConfig(), BottleneckConfig(expansion=2), BottleneckConfig(kernel_size=5)]
STEMS = [CifarStemConfig(), ImageNetStemConfig()]


@pytest.mark.parametrize("block", BLOCKS, ids=["basic", "bottleneck", "wide-kernel"])
@pytest.mark.parametrize("stem", STEMS, ids=["cifar", "imagenet"])
def test_values_and_gradients_agree_with_plain_functions(
    block: BasicBlockConfig | BottleneckConfig, stem: CifarStemConfig | ImageNetStemConfig
) -> None:
    torch.manual_seed(0)
    config = ResNetConfig((2, 1), width=4, block=block, stem=stem, num_channels=2, num_classes=5)
    model = config.build().double()
    for norm in (module for module in model.modules() if isinstance(module, torch.nn.BatchNorm2d)):
        torch.nn.init.normal_(norm.weight, 1, 0.1)
        torch.nn.init.normal_(norm.bias, 0, 0.1)
    images = torch.randn(3, 2, 14, 18, dtype=torch.float64)

    expected = twin(dict(model.named_parameters()), images, config)
    expected.square().sum().backward()
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    model.zero_grad()
    logits = model(images)
    logits.square().sum().backward()

    torch.testing.assert_close(logits, expected, rtol=0, atol=1e-12)
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        torch.testing.assert_close(parameter.grad, gradients[name], rtol=1e-9, atol=1e-9, msg=name)


def twin(weights: dict[str, Tensor], images: Tensor, config: ResNetConfig) -> Tensor:
    """The network from its weights alone, with the norms of training."""

    def apply(name: str, maps: Tensor, stride: int) -> Tensor:
        kernel = weights[f"{name}.convolution.weight"]
        maps = F.conv2d(maps, kernel, stride=stride, padding=kernel.shape[-1] // 2)
        mean, variance = maps.mean((0, 2, 3)), maps.var((0, 2, 3), unbiased=False)
        scale = weights[f"{name}.norm.weight"] / (variance + 1e-5).sqrt()
        return (maps - mean[:, None, None]) * scale[:, None, None] + weights[f"{name}.norm.bias"][:, None, None]

    large_images = isinstance(config.stem, ImageNetStemConfig)
    maps = apply("stem.0", images, 2 if large_images else 1).clamp(min=0)
    if large_images:
        maps = F.max_pool2d(maps, 3, 2, 1)
    for stage, num_blocks in enumerate(config.blocks_per_stage):
        for block in range(num_blocks):
            name, stride = f"stages.{stage}.{block}", 2 if stage and not block else 1
            shortcut = maps
            if f"{name}.shortcut.convolution.weight" in weights:
                shortcut = apply(f"{name}.shortcut", maps, stride)
            if isinstance(config.block, BasicBlockConfig):
                maps = apply(f"{name}.second", apply(f"{name}.first", maps, stride).clamp(min=0), 1)
            else:
                maps = apply(f"{name}.narrow", maps, 1).clamp(min=0)
                maps = apply(f"{name}.spatial", maps, stride).clamp(min=0)
                maps = apply(f"{name}.widen", maps, 1)
            maps = (maps + shortcut).clamp(min=0)
    return maps.mean((2, 3)) @ weights["classifier.weight"].T + weights["classifier.bias"]


@pytest.mark.parametrize("stem", STEMS, ids=["cifar", "imagenet"])
@pytest.mark.parametrize("size", [(32, 32), (7, 33), (1, 1)])
def test_takes_images_of_any_size(stem: CifarStemConfig | ImageNetStemConfig, size: tuple[int, int]) -> None:
    model = ResNetConfig((1, 1, 1), width=4, stem=stem, num_classes=7).build().eval()
    assert model(torch.randn(2, 3, *size)).shape == (2, 7)


def test_stems_keep_or_quarter_the_map() -> None:
    images = torch.randn(1, 3, 32, 48)
    assert ResNetConfig(width=4).build().stem(images).shape == (1, 4, 32, 48)
    assert ResNetConfig(width=4, stem=ImageNetStemConfig()).build().stem(images).shape == (1, 4, 8, 12)


@pytest.mark.parametrize("blocks", [(), (2, 0, 1)])
def test_refuses_stages_without_blocks(blocks: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="blocks_per_stage must name at least one stage"):
        ResNetConfig(blocks).build()


def test_refuses_a_width_of_zero() -> None:
    with pytest.raises(ValueError, match="width of a residual network must be at least 1"):
        ResNetConfig(width=0).build()


@pytest.mark.parametrize("kernel_size", [0, 4, -3])
def test_refuses_kernels_without_a_middle(kernel_size: int) -> None:
    with pytest.raises(ValueError, match="kernel_size must be odd and positive, got"):
        BottleneckConfig(kernel_size=kernel_size)
