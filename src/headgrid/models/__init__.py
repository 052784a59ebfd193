"""Image classifiers: a frozen config, and the module that it builds. Images in, logits out."""

from headgrid.models.compiled import CompiledConfig, CompiledLayerConfig
from headgrid.models.converted import ConvertedConfig
from headgrid.models.fully_attentional import (
    FullyAttentional,
    FullyAttentionalConfig,
    enlarge_tables,
)
from headgrid.models.hierarchical_san import AsPublished, Corrected, HierarchicalSAN, HierarchicalSANConfig
from headgrid.models.resnet import (
    BasicBlockConfig,
    BottleneckConfig,
    CifarStemConfig,
    ImageNetStemConfig,
    ResNet,
    ResNetConfig,
)
from headgrid.models.san import SAN, SAN10, SAN15, SAN19, SANConfig, report_san
from headgrid.models.vit import ViT, ViTConfig, resize_tables
from headgrid.models.vit_stem import PatchStemConfig, ResNetStemConfig

__all__ = [
    "SAN",
    "SAN10",
    "SAN15",
    "SAN19",
    "AsPublished",
    "BasicBlockConfig",
    "BottleneckConfig",
    "CifarStemConfig",
    "CompiledConfig",
    "CompiledLayerConfig",
    "ConvertedConfig",
    "Corrected",
    "FullyAttentional",
    "FullyAttentionalConfig",
    "HierarchicalSAN",
    "HierarchicalSANConfig",
    "ImageNetStemConfig",
    "PatchStemConfig",
    "ResNet",
    "ResNetConfig",
    "ResNetStemConfig",
    "SANConfig",
    "ViT",
    "ViTConfig",
    "enlarge_tables",
    "report_san",
    "resize_tables",
]
