"""An attention-only model with compiled layers: a convolution in the interior, attention at the borders."""

from dataclasses import dataclass, field

from headgrid.models.fully_attentional import FullyAttentional, FullyAttentionalConfig
from headgrid.theory import CompilationReport, CompiledAttention, Footprint


@dataclass(frozen=True)
class CompiledLayerConfig:
    """Where a compiled layer stands, and the footprint of its convolution."""

    names: tuple[str, ...]
    """The attention layer's places in the model."""
    first_shift: tuple[int, int]
    """The smallest shift (rows, columns) of the footprint."""
    size: tuple[int, int]
    """Rows and columns of the footprint."""
    grid: tuple[int, int]
    """The largest map that the layer is certified for."""


@dataclass(frozen=True)
class CompiledConfig:
    """Attention-only classifier whose local layers were compiled into convolutions."""

    model: FullyAttentionalConfig = field(default_factory=FullyAttentionalConfig)
    """The attention-only model."""
    layers: tuple[CompiledLayerConfig, ...] = ()
    """Its compiled layers; all others are attention."""

    @classmethod
    def of(cls, model: FullyAttentionalConfig, report: CompilationReport) -> "CompiledConfig":
        """The config of a model that `compile_model` compiled."""
        layers = []
        for layer in report.layers:
            footprint = layer.certificate.footprint
            layers.append(
                CompiledLayerConfig(
                    names=layer.names,
                    first_shift=(footprint.first_row, footprint.first_column),
                    size=(footprint.num_rows, footprint.num_columns),
                    grid=layer.certificate.grid,
                )
            )
        return cls(model, tuple(layers))

    def build(self) -> FullyAttentional:
        """The model with compiled layers whose kernels are zero until weights are loaded into them."""
        network = self.model.build()
        for layer in self.layers:
            footprint = Footprint(*layer.first_shift, *layer.size)
            attention = network.get_submodule(layer.names[0])
            compiled = CompiledAttention(attention, footprint, layer.grid)  # type: ignore[arg-type]
            for name in layer.names:
                parent, _, child = name.rpartition(".")
                setattr(network.get_submodule(parent), child, compiled)
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
