"""The attention-only image classifier of Cordonnier et al. (section 4.1), and of the report about it."""

from dataclasses import dataclass, field, replace
from typing import Literal, overload

from torch import nn

from headgrid.attention import (
    AttentionConfig,
    AttentionOutput,
    HeadlessAttentionConfig,
    MultiheadAttentionConfig,
)
from headgrid.axes import Images, Logits
from headgrid.layers import MeanPoolClassifier, PixelConcatenation
from headgrid.models.heads_per_layer import heads_of_layers
from headgrid.stacks import Hierarchical, PaperBlockConfig, Plain, ReportBlockConfig
from headgrid.theory import ConvolutionalInitialization, DefaultInitialization


@dataclass(frozen=True)
class FullyAttentionalConfig:
    """Attention-only classifier: pixel concatenation, blocks of attention, mean over pixels, Linear."""

    dim: int = 400
    """Channels of a pixel, D."""
    num_layers: int = 6
    """Number of blocks, L."""
    pixel_concatenation: int = 2
    """Side of the cells whose pixels are concatenated at the input; 1 leaves the image as it is."""
    attention: AttentionConfig = field(default_factory=MultiheadAttentionConfig)
    """The attention of each block: one score, or gated position and content."""
    block: PaperBlockConfig | ReportBlockConfig = field(default_factory=PaperBlockConfig)
    """What stands around the attention: the paper's block or the report's."""
    stack: Plain | Hierarchical = field(default_factory=Plain)
    """L blocks, or hierarchical attention: one block L times."""
    heads_per_layer: tuple[int, ...] | None = None
    """Number of heads of each layer where they differ, as after pruning; a layer of 0 has only its bias left."""
    initialization: DefaultInitialization | ConvolutionalInitialization = field(
        default_factory=DefaultInitialization
    )
    """How attention layers start: as their parts draw them, or as convolutions."""
    image_size: tuple[int, int] = (32, 32)
    """Rows and columns of the images that learned encodings are built for; other models take any size."""
    num_channels: int = 3
    """Channels of the images."""
    num_classes: int = 10
    """Number of classes."""

    def __post_init__(self) -> None:
        for name in ("dim", "num_layers", "pixel_concatenation", "num_channels", "num_classes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        rows, columns = self.image_size
        cell = self.pixel_concatenation
        if min(rows, columns) < 1 or rows % cell or columns % cell:
            raise ValueError(
                f"image_size {rows} x {columns} must be a positive multiple of pixel_concatenation {cell}"
            )

    def build(self) -> "FullyAttentional":
        return FullyAttentional(self)

    @property
    def heads_of_layers(self) -> tuple[int, ...]:
        """Number of heads of every layer."""
        return heads_of_layers(self.attention.num_heads, self.heads_per_layer, self.num_layers, self.stack)

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of pixels in the attention layers."""
        rows, columns = self.image_size
        return rows // self.pixel_concatenation, columns // self.pixel_concatenation


class FullyAttentional(nn.Module):
    """Images in, logits out; on request the attention of every layer by name."""

    def __init__(self, config: FullyAttentionalConfig) -> None:
        super().__init__()
        self.config = config
        self.pixel_concatenation = PixelConcatenation(config.pixel_concatenation)
        self.embedding = nn.Linear(config.num_channels * config.pixel_concatenation**2, config.dim)

        def make_block(number: int, own_key: bool) -> nn.Module:
            num_heads = config.heads_of_layers[number]
            attention = replace(config.attention, num_heads=num_heads) if num_heads else HeadlessAttentionConfig()
            return config.block.build(attention, config.dim, config.grid, own_key)

        self.stack = config.stack.build(make_block, config.num_layers)
        self.classifier = MeanPoolClassifier(config.dim, config.num_classes)
        config.initialization.apply(self)

    @overload
    def forward(self, images: Images, record: Literal[False] = False) -> Logits: ...
    @overload
    def forward(self, images: Images, record: Literal[True]) -> tuple[Logits, dict[str, AttentionOutput]]: ...
    def forward(self, images: Images, record: bool = False) -> Logits | tuple[Logits, dict[str, AttentionOutput]]:
        """Logits; with ``record`` also what each layer's attention gave, weights included.

        The names are those of the layers' modules: ``model.get_submodule("stack.blocks.0.attention")``. A block
        that is applied several times appears under the number of each pass.
        """
        if images.shape[1] != self.config.num_channels:
            raise ValueError(
                f"the model was built for images of {self.config.num_channels} channels, got {images.shape[1]}: "
                f"build it with num_channels={images.shape[1]}, or convert the images"
            )
        pixels = self.embedding(self.pixel_concatenation(images))
        pixels, outputs = self.stack(pixels, record)
        logits = self.classifier(pixels)
        if not record:
            return logits
        return logits, {f"stack.blocks.{layer}.attention": output for layer, output in enumerate(outputs)}


def enlarge_tables(model: FullyAttentional, image_size: tuple[int, int]) -> FullyAttentional:
    """Stretches every learned table of the model, in place, to larger images; returns the model.

    Parameters are replaced by larger ones: build the optimizer afterwards.
    """
    built_for = model.config.image_size
    if image_size[0] < built_for[0] or image_size[1] < built_for[1]:
        raise ValueError(
            f"tables can only be enlarged: the model was built for images of {built_for[0]} x {built_for[1]}, and "
            f"{image_size[0]} x {image_size[1]} is smaller on one side"
        )
    config = replace(model.config, image_size=image_size)
    for module in model.modules():
        if hasattr(module, "enlarge"):
            module.enlarge(config.grid)  # type: ignore[operator]
    model.config = config
    return model
