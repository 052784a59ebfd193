"""A network of convolutions with attention in their place (Theorem 1)."""

from dataclasses import dataclass, field

from headgrid.models.resnet import ResNet, ResNetConfig
from headgrid.models.vit import ViT, ViTConfig
from headgrid.theory import convert_network


@dataclass(frozen=True)
class ConvertedConfig:
    """Every convolution of a network as multi-head attention with quadratic encodings."""

    model: ResNetConfig | ViTConfig = field(default_factory=ResNetConfig)
    """The network with convolutions: a residual one, or a vision transformer that begins with some."""

    def build(self) -> ResNet | ViT:
        """The network, converted; its attention computes what its new convolutions would."""
        network = self.model.build()
        convert_network(network, in_place=True)
        network.config = self  # type: ignore[assignment]
        return network

    @property
    def image_size(self) -> tuple[int, int]:
        return self.model.image_size

    @property
    def num_channels(self) -> int:
        return self.model.num_channels

    @property
    def num_classes(self) -> int:
        return self.model.num_classes
