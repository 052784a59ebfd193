"""Image classifiers: a frozen config, and the module that it builds. Images in, logits out."""

from headgrid.models.fully_attentional import (
    FullyAttentional,
    FullyAttentionalConfig,
    enlarge_tables,
)
from headgrid.models.resnet import (
    BasicBlockConfig,
    BottleneckConfig,
    CifarStemConfig,
    ImageNetStemConfig,
    ResNet,
    ResNetConfig,
)

__all__ = [
    "BasicBlockConfig",
    "BottleneckConfig",
    "CifarStemConfig",
    "FullyAttentional",
    "FullyAttentionalConfig",
    "ImageNetStemConfig",
    "ResNet",
    "ResNetConfig",
    "enlarge_tables",
]
