"""Vision transformers (Dosovitskiy et al. 2021): attention between patches, and a class token before them.

An image becomes tokens, each gets the vector of its place, blocks of attention follow, and one vector or the mean
of several goes to the classes. The report's ViT combines other parts of the same kinds: the start of a ResNet in
front, heads as wide as a token, a block that normalises its trunk, the mean over all tokens.
"""

from dataclasses import dataclass, field, replace
from typing import Literal, overload

from torch import nn

from headgrid.attention import (
    HeadlessTokenAttention,
    HeadlessTokenAttentionConfig,
    TokenAttention,
    TokenAttentionConfig,
    TokenAttentionOutput,
)
from headgrid.axes import Images, Logits
from headgrid.geometry import TokenLayout
from headgrid.layers import (
    ClassTokenConfig,
    ClassTokenPooling,
    FinalNorm,
    LearnedClassTokenConfig,
    LearnedPositionsConfig,
    NormBeforePooling,
    SinusoidalPositionsConfig,
    TokenClassifier,
    TokenPooling,
)
from headgrid.models.heads_per_layer import heads_of_layers
from headgrid.models.vit_stem import PatchStemConfig, ResNetStemConfig
from headgrid.stacks import Hierarchical, Plain, PreNormBlockConfig, ReportViTBlockConfig


@dataclass(frozen=True)
class ViTConfig:
    """Vision transformer: stem, positions, blocks of attention between tokens, pooling, Linear."""

    dim: int = 768
    """Channels of a token, D."""
    num_layers: int = 12
    """Number of blocks, L."""
    stem: PatchStemConfig | ResNetStemConfig = field(default_factory=PatchStemConfig)
    """How patches become tokens."""
    class_token: ClassTokenConfig = field(default_factory=LearnedClassTokenConfig)
    """The token that stands for the whole image, if there is one."""
    positions: LearnedPositionsConfig | SinusoidalPositionsConfig = field(default_factory=LearnedPositionsConfig)
    """How a token knows its place."""
    attention: TokenAttentionConfig = field(default_factory=TokenAttentionConfig)
    """The attention of each block."""
    block: PreNormBlockConfig | ReportViTBlockConfig = field(default_factory=PreNormBlockConfig)
    """What stands around the attention: the usual block or the report's."""
    stack: Plain | Hierarchical = field(default_factory=Plain)
    """L blocks, or hierarchical attention: one block L times."""
    heads_per_layer: tuple[int, ...] | None = None
    """Number of heads of each layer where they differ, as after pruning; a layer of 0 has only its bias left."""
    pooling: TokenPooling = field(default_factory=ClassTokenPooling)
    """Which tokens speak for the image."""
    final_norm: FinalNorm = field(default_factory=NormBeforePooling)
    """Where the last norm stands."""
    image_size: tuple[int, int] = (224, 224)
    """Rows and columns of the images."""
    num_channels: int = 3
    """Channels of the images."""
    num_classes: int = 1000
    """Number of classes."""

    def __post_init__(self) -> None:
        for name in ("dim", "num_layers", "num_channels", "num_classes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        rows, columns = self.image_size
        patch = self.stem.patch_size
        if patch < 1 or min(rows, columns) < 1 or rows % patch or columns % patch:
            raise ValueError(f"image_size {rows} x {columns} must be a positive multiple of patch_size {patch}")
        if isinstance(self.pooling, ClassTokenPooling) and not self.class_token.num_tokens:
            raise ValueError(
                "pooling cannot take the class token of a model without one: choose a mean, or a class token"
            )

    def build(self) -> "ViT":
        return ViT(self)

    @property
    def heads_of_layers(self) -> tuple[int, ...]:
        """Number of heads of every layer."""
        return heads_of_layers(self.attention.num_heads, self.heads_per_layer, self.num_layers, self.stack)

    @property
    def layout(self) -> TokenLayout:
        """Where the patches stand in the sequence of tokens, and in the image."""
        rows, columns = self.image_size
        grid = rows // self.stem.patch_size, columns // self.stem.patch_size
        return TokenLayout(grid, self.class_token.num_tokens)


class ViT(nn.Module):
    """Images in, logits out; on request the attention of every layer by name."""

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        self.config = config
        dim, layout = config.dim, config.layout
        self.stem = config.stem.build(config.num_channels, dim, config.class_token)
        self.positions = config.positions.build(dim, layout)

        def make_block(number: int, own_key: bool) -> nn.Module:
            num_heads = config.heads_of_layers[number]
            attention = HeadlessTokenAttentionConfig()
            if num_heads:
                attention = replace(config.attention, num_heads=num_heads)
            return config.block.build(attention, dim, layout, own_key)

        self.stack = config.stack.build(make_block, config.num_layers)
        self.classifier = TokenClassifier(
            config.pooling, config.final_norm, layout.num_class_tokens, dim, config.num_classes
        )

    @overload
    def forward(self, images: Images, record: Literal[False] = False) -> Logits: ...
    @overload
    def forward(self, images: Images, record: Literal[True]) -> tuple[Logits, dict[str, TokenAttentionOutput]]: ...
    def forward(
        self, images: Images, record: bool = False
    ) -> Logits | tuple[Logits, dict[str, TokenAttentionOutput]]:
        """Logits; with ``record`` also what each layer's attention gave, weights included.

        The names are those of the layers' modules: ``model.get_submodule("stack.blocks.0.attention")``. A block
        that is applied several times appears under the number of each pass.
        """
        _, channels, *size = images.shape
        config = self.config
        if channels != config.num_channels or tuple(size) != config.image_size:
            rows, columns = config.image_size
            raise ValueError(
                f"the model was built for images of {config.num_channels} x {rows} x {columns}, got "
                f"{channels} x {size[0]} x {size[1]}: resize the images, or the model's positions with "
                f"resize_tables(model, image_size)"
            )
        tokens, outputs = self.stack(self.positions(self.stem(images)), record)
        logits = self.classifier(tokens)
        if not record:
            return logits
        return logits, {f"stack.blocks.{layer}.attention": output for layer, output in enumerate(outputs)}


def resize_tables(model: ViT, image_size: tuple[int, int]) -> ViT:
    """Makes the model, in place, one for larger or smaller images; returns it.

    A learned table of positions is interpolated and becomes another parameter: build the optimizer afterwards.
    """
    config = replace(model.config, image_size=image_size)
    model.positions.resize(config.layout)
    for module in model.modules():
        if isinstance(module, TokenAttention | HeadlessTokenAttention):
            module.layout = config.layout
    model.config = config
    return model
