"""SAN (Zhao, Jia, Koltun 2020): image classifiers that look at other pixels through local vector attention only."""

from dataclasses import dataclass, field, replace
from typing import Literal, overload

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from headgrid.attention import FootprintAttentionOutput, PairwiseAttentionConfig, PatchwiseAttentionConfig
from headgrid.axes import Images, Logits, Pixels
from headgrid.layers import MeanPoolClassifier, NormReLU
from headgrid.stacks import Hierarchical, Plain, SANBlockConfig

SAN10, SAN15, SAN19 = (2, 1, 2, 4, 1), (3, 2, 3, 5, 2), (3, 3, 4, 6, 3)
"""The number of blocks of each stage in the networks of the paper."""


@dataclass(frozen=True)
class SANConfig:
    """SAN: a stem, stages of attention blocks on ever smaller maps, mean over pixels, Linear. SAN10 by default."""

    attention: PairwiseAttentionConfig | PatchwiseAttentionConfig = field(default_factory=PairwiseAttentionConfig)
    """The attention of every block; `footprints` says how large its footprint is in each stage."""
    blocks_per_stage: tuple[int, ...] = SAN10
    """Number of attention blocks of each stage."""
    channels: tuple[int, ...] = (64, 256, 512, 1024, 2048)
    """Channels of the blocks of each stage."""
    footprints: tuple[int, ...] = (3, 7, 7, 7, 7)
    """Side of the footprint in each stage."""
    poolings: tuple[int, ...] = (2, 2, 2, 2, 2)
    """Side of the cells that max pooling shrinks to one pixel before each stage; 1 keeps every pixel."""
    stem_channels: int = 64
    """Channels of the linear layer before the first stage."""
    block: SANBlockConfig = field(default_factory=SANBlockConfig)
    """How narrow the attention is in relation to its block."""
    stack: Plain | Hierarchical = field(default_factory=Plain)
    """The blocks of a stage, or hierarchical attention within it: one block as often as the stage has blocks."""
    image_size: tuple[int, int] = (224, 224)
    """Rows and columns of the images that the network is meant for; it takes any size."""
    num_channels: int = 3
    """Channels of the images."""
    num_classes: int = 1000
    """Number of classes."""

    def __post_init__(self) -> None:
        per_stage = {
            "blocks_per_stage": self.blocks_per_stage,
            "channels": self.channels,
            "footprints": self.footprints,
            "poolings": self.poolings,
        }
        if len({len(values) for values in per_stage.values()}) != 1 or not self.channels:
            lengths = ", ".join(f"{name} {len(values)}" for name, values in per_stage.items())
            raise ValueError(f"a SAN needs the same number of entries for each stage, at least one, got {lengths}")
        for name, values in per_stage.items():
            if min(values) < 1:
                raise ValueError(f"every entry of {name} must be at least 1, got {values}")

    def build(self) -> "SAN":
        return SAN(self)

    @property
    def grids(self) -> tuple[tuple[int, int], ...]:
        """Rows and columns of the map in each stage."""
        grids, (height, width) = [], self.image_size
        for pooling in self.poolings:
            height, width = height // pooling, width // pooling
            grids.append((height, width))
        return tuple(grids)


def report_san(attention: PairwiseAttentionConfig | PatchwiseAttentionConfig) -> SANConfig:
    """The SAN of the reproduction report (its table 3): SAN10 for CIFAR-10, without the fifth stage.

    Reconstructed from the parameter count, for the code was never published.
    """
    return SANConfig(
        attention=attention,
        blocks_per_stage=(2, 1, 2, 4),
        channels=(64, 256, 512, 1024),
        footprints=(3, 3, 3, 3),
        poolings=(2, 2, 2, 2),
        image_size=(32, 32),
        num_classes=10,
    )


class SAN(nn.Module):
    """Images in, logits out; on request the attention of every layer by name. Channels stand last inside.

    Takes images of any size down to one pixel in the last stage. (The official one fails below 128 pixels, where a
    footprint reaches beyond the mirror image of the map; here the mirror image is mirrored again.)
    """

    def __init__(self, config: SANConfig) -> None:
        super().__init__()
        self.config = config
        self.stem = nn.Linear(config.num_channels, config.stem_channels, bias=False)
        self.stem_norm = NormReLU(config.stem_channels)
        inputs = (config.stem_channels, *config.channels)
        self.stages = nn.ModuleList(SANStage(config, stage, inputs[stage]) for stage in range(len(config.channels)))
        self.classifier = MeanPoolClassifier(config.channels[-1], config.num_classes)

    @overload
    def forward(self, images: Images, record: Literal[False] = False) -> Logits: ...
    @overload
    def forward(
        self, images: Images, record: Literal[True]
    ) -> tuple[Logits, dict[str, FootprintAttentionOutput]]: ...
    def forward(
        self, images: Images, record: bool = False
    ) -> Logits | tuple[Logits, dict[str, FootprintAttentionOutput]]:
        """Logits; with ``record`` also what each layer's attention gave, weights included.

        The names are those of the layers' modules: ``model.get_submodule("stages.0.stack.blocks.0.attention")``.
        """
        pixels = self.stem_norm(self.stem(images.movedim(1, -1).contiguous()))
        outputs = {}
        for number, stage in enumerate(self.stages):
            pixels, attended = stage(pixels, record)
            for block, output in enumerate(attended):
                outputs[f"stages.{number}.stack.blocks.{block}.attention"] = output
        logits = self.classifier(pixels)
        return (logits, outputs) if record else logits


class SANStage(nn.Module):
    """Max pooling, Linear to the stage's channels, blocks, norm, ReLU."""

    def __init__(self, config: SANConfig, stage: int, num_channels: int) -> None:
        super().__init__()
        dim = config.channels[stage]
        attention = replace(
            config.attention, footprint=replace(config.attention.footprint, size=config.footprints[stage])
        )
        self.pooling = config.poolings[stage]
        self.transition = nn.Linear(num_channels, dim, bias=False)
        self.stack = config.stack.build(
            lambda _, own_key: config.block.build(attention, dim, own_key), config.blocks_per_stage[stage]
        )
        self.norm = NormReLU(dim)

    def forward(
        self, pixels: Pixels, record: bool = False
    ) -> tuple[Float[Tensor, "b h_pooled w_pooled c_out"], tuple[FootprintAttentionOutput, ...]]:
        height, width = pixels.shape[1:3]
        if min(height, width) < self.pooling:
            raise ValueError(
                f"a map of {height} x {width} pixels cannot be pooled in cells of {self.pooling} x {self.pooling}: "
                f"use larger images, or fewer stages that pool"
            )
        pooled = F.max_pool2d(pixels.movedim(-1, 1), self.pooling).movedim(1, -1)
        pixels, outputs = self.stack(self.transition(pooled), record)
        return self.norm(pixels), outputs
