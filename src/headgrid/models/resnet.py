"""Residual networks (He et al. 2016), the convolutional baselines: of the attention-only model a ResNet-18 on small
images, of SAN the bottleneck networks with 26, 38 and 50 layers on large ones.

Weights start as PyTorch draws them, as in the code of Cordonnier et al. A first block of a stage halves rows and
columns in its 3 x 3 convolution, so the network with blocks (3, 4, 6, 3) is torchvision's ResNet-50.
"""

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from headgrid.axes import Images, Logits


@dataclass(frozen=True)
class CifarStemConfig:
    """For small images: a 3 x 3 convolution, which keeps every pixel."""

    def build(self, num_channels: int, width: int) -> nn.Module:
        return nn.Sequential(ConvolutionNorm(num_channels, width, 3), nn.ReLU())


@dataclass(frozen=True)
class ImageNetStemConfig:
    """For large images: a 7 x 7 convolution and a max pooling, which halve rows and columns twice."""

    def build(self, num_channels: int, width: int) -> nn.Module:
        pooling = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        return nn.Sequential(ConvolutionNorm(num_channels, width, 7, stride=2), nn.ReLU(), pooling)


@dataclass(frozen=True)
class BasicBlockConfig:
    """Two 3 x 3 convolutions."""

    def output_channels(self, width: int) -> int:
        return width

    def build(self, num_channels: int, width: int, stride: int) -> "BasicBlock":
        return BasicBlock(num_channels, width, stride)


@dataclass(frozen=True)
class BottleneckConfig:
    """A 1 x 1 convolution that narrows, a 3 x 3 convolution, a 1 x 1 convolution that widens."""

    expansion: int = 4
    """How many times wider the block's output is than its 3 x 3 convolution."""
    kernel_size: int = 3
    """Side of the kernel in the middle; the paper of SAN compares its footprints with kernels up to 7 x 7."""

    def __post_init__(self) -> None:
        if self.kernel_size < 1 or self.kernel_size % 2 == 0:
            raise ValueError(
                f"the kernel of a bottleneck needs a pixel in its middle: kernel_size must be odd and positive, "
                f"got {self.kernel_size}"
            )

    def output_channels(self, width: int) -> int:
        return self.expansion * width

    def build(self, num_channels: int, width: int, stride: int) -> "Bottleneck":
        return Bottleneck(num_channels, width, self.output_channels(width), stride, self.kernel_size)


@dataclass(frozen=True)
class ResNetConfig:
    """Residual network: stem, stages of residual blocks, mean over pixels, Linear."""

    blocks_per_stage: tuple[int, ...] = (2, 2, 2, 2)
    """Number of residual blocks of each stage."""
    width: int = 64
    """Channels of the 3 x 3 convolutions of the first stage; they double from stage to stage."""
    block: BasicBlockConfig | BottleneckConfig = field(default_factory=BasicBlockConfig)
    """What a residual block computes."""
    stem: CifarStemConfig | ImageNetStemConfig = field(default_factory=CifarStemConfig)
    """What stands before the first stage: full resolution for small images, a quarter of it for large ones."""
    image_size: tuple[int, int] = (32, 32)
    """Rows and columns of the images that the network is meant for; it takes any size."""
    num_channels: int = 3
    """Channels of the images."""
    num_classes: int = 10
    """Number of classes."""

    def build(self) -> "ResNet":
        return ResNet(self)


class ResNet(nn.Module):
    """Images in, logits out."""

    def __init__(self, config: ResNetConfig) -> None:
        super().__init__()
        if not config.blocks_per_stage or min(config.blocks_per_stage) < 1:
            raise ValueError(
                f"blocks_per_stage must name at least one stage, each of at least one block, "
                f"got {config.blocks_per_stage}"
            )
        if config.width < 1:
            raise ValueError(f"the width of a residual network must be at least 1, got {config.width}")
        self.config = config
        self.stem = config.stem.build(config.num_channels, config.width)
        stages, channels = [], config.width
        for stage, num_blocks in enumerate(config.blocks_per_stage):
            width = config.width * 2**stage
            blocks = []
            for block in range(num_blocks):
                stride = 2 if stage > 0 and block == 0 else 1
                blocks.append(config.block.build(channels, width, stride))
                channels = config.block.output_channels(width)
            stages.append(nn.Sequential(*blocks))
        self.stages = nn.Sequential(*stages)
        self.classifier = nn.Linear(channels, config.num_classes)

    def forward(self, images: Images) -> Logits:
        # Channels last in memory (not in shape): CPUs and GPUs convolve a third faster or more that way.
        maps = self.stem(images.contiguous(memory_format=torch.channels_last))
        return self.classifier(self.stages(maps).mean(dim=(2, 3)))


class ConvolutionNorm(nn.Module):
    """A convolution without bias, then batch normalisation; at stride 1 the map keeps its size."""

    def __init__(self, num_channels: int, output_channels: int, kernel_size: int, stride: int = 1) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(
            num_channels, output_channels, kernel_size, stride, padding=kernel_size // 2, bias=False
        )
        self.norm = nn.BatchNorm2d(output_channels)

    def forward(self, maps: Images) -> Float[Tensor, "b c_out h_out w_out"]:
        return self.norm(self.convolution(maps))


class BasicBlock(nn.Module):
    """``relu(shortcut(x) + second(relu(first(x))))``."""

    def __init__(self, num_channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.first = ConvolutionNorm(num_channels, width, 3, stride)
        self.second = ConvolutionNorm(width, width, 3)
        self.shortcut = _shortcut(num_channels, width, stride)

    def forward(self, maps: Images) -> Float[Tensor, "b c_out h_out w_out"]:
        return F.relu(self.shortcut(maps) + self.second(F.relu(self.first(maps))))


class Bottleneck(nn.Module):
    """``relu(shortcut(x) + widen(relu(spatial(relu(narrow(x))))))``."""

    def __init__(self, num_channels: int, width: int, output_channels: int, stride: int, kernel_size: int) -> None:
        super().__init__()
        self.narrow = ConvolutionNorm(num_channels, width, 1)
        self.spatial = ConvolutionNorm(width, width, kernel_size, stride)
        self.widen = ConvolutionNorm(width, output_channels, 1)
        self.shortcut = _shortcut(num_channels, output_channels, stride)

    def forward(self, maps: Images) -> Float[Tensor, "b c_out h_out w_out"]:
        return F.relu(self.shortcut(maps) + self.widen(F.relu(self.spatial(F.relu(self.narrow(maps))))))


def _shortcut(num_channels: int, output_channels: int, stride: int) -> nn.Module:
    """The input itself, or a 1 x 1 convolution of it where the block changes the map's size or channels."""
    if stride == 1 and num_channels == output_channels:
        return nn.Identity()
    return ConvolutionNorm(num_channels, output_channels, 1, stride)
