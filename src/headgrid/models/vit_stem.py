"""From an image to the tokens of a vision transformer, the class token among them."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headgrid.axes import Images
from headgrid.layers import ClassTokenConfig, PatchEmbedding, PixelConcatenation
from headgrid.models.resnet import BasicBlock, ConvolutionNorm


@dataclass(frozen=True)
class PatchStemConfig:
    """The pixels of each patch, through one Linear; the class token comes after it, as wide as a token."""

    patch_size: int = 16
    """Side of a patch in pixels."""

    def build(self, num_channels: int, dim: int, class_token: ClassTokenConfig) -> "PatchStem":
        return PatchStem(self, num_channels, dim, class_token)


@dataclass(frozen=True)
class ResNetStemConfig:
    """The report's: the start of a ResNet-18 at full resolution, patches of its features, and one Linear.

    The class token is put before the patches, and the Linear acts on all of them alike.
    """

    patch_size: int = 2
    """Side of a patch in pixels."""
    width: int = 64
    """Channels of the features."""
    num_blocks: int = 2
    """Number of residual blocks after the first convolution."""

    def build(self, num_channels: int, dim: int, class_token: ClassTokenConfig) -> "ResNetStem":
        return ResNetStem(self, num_channels, dim, class_token)


class PatchStem(nn.Module):
    """Patches, Linear, class token."""

    def __init__(self, config: PatchStemConfig, num_channels: int, dim: int, class_token: ClassTokenConfig) -> None:
        super().__init__()
        self.embedding = PatchEmbedding(config.patch_size, num_channels, dim)
        self.class_token = class_token.build(dim)

    def forward(self, images: Images) -> Float[Tensor, "b t dim"]:
        return self.class_token(self.embedding(images))


class ResNetStem(nn.Module):
    """Convolutions, patches, class token, Linear."""

    def __init__(
        self, config: ResNetStemConfig, num_channels: int, dim: int, class_token: ClassTokenConfig
    ) -> None:
        super().__init__()
        width, patch_dim = config.width, config.width * config.patch_size**2
        blocks = (BasicBlock(width, width, stride=1) for _ in range(config.num_blocks))
        self.features = nn.Sequential(ConvolutionNorm(num_channels, width, 3), nn.ReLU(), *blocks)
        self.concatenation = PixelConcatenation(config.patch_size)
        self.class_token = class_token.build(patch_dim)
        self.linear = nn.Linear(patch_dim, dim)

    def forward(self, images: Images) -> Float[Tensor, "b t dim"]:
        features = self.features(images.contiguous(memory_format=torch.channels_last))
        return self.linear(self.class_token(self.concatenation(features).flatten(1, 2)))
