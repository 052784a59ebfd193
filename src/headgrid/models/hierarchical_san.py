"""HA-SAN, the reproduction report's small SAN: a module of two bottlenecks, applied four times on one key.

Not a SAN with fewer weights but a network of its own: every pass has a Linear in front of the module and a norm
behind it, and no pixels are pooled. The key of the very first bottleneck serves all eight applications.

The report's public code changed around the time of its results: until 23 January 2021 the attention saw the
normalised input of its bottleneck, later the untouched one. `AsPublished` follows the last version: the first norm
of each bottleneck and the key of the second exist, count as parameters, and nothing uses them. Which version gave
the published numbers cannot be established.
"""

from dataclasses import dataclass, field
from typing import Literal, overload

from jaxtyping import Float
from torch import Tensor, nn

from headgrid.attention import FootprintAttentionOutput, PairwiseAttentionConfig, PatchwiseAttentionConfig
from headgrid.axes import Images, Logits, Pixels
from headgrid.layers import MeanPoolClassifier, NormReLU, PixelConcatenation
from headgrid.ops import Footprint
from headgrid.stacks import Hierarchical, Plain, SANBlock, SANBlockConfig

SANAttentionConfig = PairwiseAttentionConfig | PatchwiseAttentionConfig


@dataclass(frozen=True)
class Corrected:
    """Attention sees the normalised input of its bottleneck; every parameter is used."""

    def bottleneck(
        self, block: SANBlockConfig, attention: SANAttentionConfig, dim: int, own_key: bool
    ) -> nn.Module:
        return block.build(attention, dim, own_key)


@dataclass(frozen=True)
class AsPublished:
    """Attention sees the untouched input, beside norms and keys that nothing uses: the report's last code."""

    def bottleneck(
        self, block: SANBlockConfig, attention: SANAttentionConfig, dim: int, own_key: bool
    ) -> nn.Module:
        return UntouchedSANBlock(block.build(attention, dim))


@dataclass(frozen=True)
class HierarchicalSANConfig:
    """HA-SAN: a stem, passes of a Linear, bottlenecks and a norm, mean over pixels, Linear."""

    attention: SANAttentionConfig = field(
        default_factory=lambda: PairwiseAttentionConfig(footprint=Footprint(3), bias=False)
    )
    """The attention of every bottleneck."""
    form: Corrected | AsPublished = field(default_factory=Corrected)
    """Whether the mistakes of the report's code are put right."""
    stack: Plain | Hierarchical = field(default_factory=Hierarchical)
    """Whether the passes share their bottlenecks and keep the first key, as in the report."""
    num_passes: int = 4
    """How often the bottlenecks are passed."""
    blocks_per_pass: int = 2
    """Number of bottlenecks of a pass."""
    channels: int = 256
    """Channels of a pixel."""
    pixel_concatenation: int = 1
    """Side of the cells whose pixels are concatenated at the input; 1, as in the report: none."""
    block: SANBlockConfig = field(default_factory=lambda: SANBlockConfig(relation_reduction=16, value_reduction=4))
    """How narrow the attention is in relation to its bottleneck."""
    image_size: tuple[int, int] = (32, 32)
    """Rows and columns of the images that the network is meant for; it takes any size."""
    num_channels: int = 3
    """Channels of the images."""
    num_classes: int = 10
    """Number of classes."""

    def __post_init__(self) -> None:
        for name in ("num_passes", "blocks_per_pass", "channels", "pixel_concatenation"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")

    def build(self) -> "HierarchicalSAN":
        return HierarchicalSAN(self)


class UntouchedSANBlock(nn.Module):
    """``x + widen(relu(norm(attention(x))))``: SAN's block, but for its first norm, which is there and idle."""

    def __init__(self, block: SANBlock) -> None:
        super().__init__()
        self.input_norm = block.input_norm
        self.attention = block.attention
        self.attention_norm = block.attention_norm
        self.widen = block.widen

    def forward(
        self, pixels: Pixels, key: Float[Tensor, "b y x r"] | None = None, record: bool = False
    ) -> tuple[Pixels, FootprintAttentionOutput]:
        attended = self.attention(pixels, key, record)
        return pixels + self.widen(self.attention_norm(attended.values)), attended


class HierarchicalSAN(nn.Module):
    """Images in, logits out; on request the attention of every application by name. Channels stand last inside."""

    def __init__(self, config: HierarchicalSANConfig) -> None:
        super().__init__()
        self.config = config
        dim, passes = config.channels, range(config.num_passes)
        self.pixel_concatenation = PixelConcatenation(config.pixel_concatenation)
        self.stem = nn.Linear(config.num_channels * config.pixel_concatenation**2, dim, bias=False)
        self.stem_norm = NormReLU(dim)
        self.transitions = nn.ModuleList(nn.Linear(dim, dim, bias=False) for _ in passes)
        self.stack = config.stack.build(
            lambda _, own_key: config.form.bottleneck(config.block, config.attention, dim, own_key),
            config.num_passes,
            config.blocks_per_pass,
        )
        self.norms = nn.ModuleList(NormReLU(dim) for _ in passes)
        self.classifier = MeanPoolClassifier(dim, config.num_classes)

    @overload
    def forward(self, images: Images, record: Literal[False] = False) -> Logits: ...
    @overload
    def forward(
        self, images: Images, record: Literal[True]
    ) -> tuple[Logits, dict[str, FootprintAttentionOutput]]: ...
    def forward(
        self, images: Images, record: bool = False
    ) -> Logits | tuple[Logits, dict[str, FootprintAttentionOutput]]:
        """Logits; with ``record`` also what the attention of each application gave, weights included.

        The names are those of the layers' modules: ``model.get_submodule("stack.blocks.5.attention")`` is the
        second bottleneck in the third pass, whether or not the passes share it.
        """
        pixels = self.stem_norm(self.stem(self.pixel_concatenation(images)))
        calls, per_pass = list(self.stack.calls()), self.config.blocks_per_pass
        if len(calls) != per_pass * len(self.norms):
            raise ValueError(
                f"the number of passes of this network cannot change: each of its {len(self.norms)} has a Linear "
                f"and a norm of its own, and the stack was set to {self.stack.num_passes} passes"
            )
        key, outputs = None, []
        for number, (transition, norm) in enumerate(zip(self.transitions, self.norms, strict=True)):
            pixels = transition(pixels)
            for call in calls[number * per_pass : (number + 1) * per_pass]:
                pixels, attended = call(pixels, key, record)
                outputs.append(attended)
                key = self.stack.key.for_next(key, attended.key)
            pixels = norm(pixels)
        logits = self.classifier(pixels)
        if not record:
            return logits
        return logits, {f"stack.blocks.{number}.attention": output for number, output in enumerate(outputs)}
