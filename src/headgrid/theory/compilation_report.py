"""What `compile_model` did: layer by layer, and for the whole model."""

from dataclasses import dataclass

from rich.table import Table

from headgrid.theory.attention_to_convolution import Certificate
from headgrid.theory.cost import count, rich_table
from headgrid.theory.head_to_shift import HeadToShift


@dataclass(frozen=True)
class Cost:
    """Of a layer, for one image."""

    macs: int
    """Multiply-adds."""
    seconds: float
    """Median time of a batch, divided by its images."""


@dataclass(frozen=True)
class CompiledLayer:
    """A layer that became a convolution in the interior of its maps."""

    names: tuple[str, ...]
    """Where the layer stands in the model; several places if they share it."""
    num_heads: int
    certificate: Certificate
    num_border_pixels: int
    """Pixels whose footprint does not lie on the map: they still attend."""
    bound: float
    """No output can differ by more, for the pixels that the layer gets from the images; proved."""
    error: float
    """The largest difference of any output, measured."""
    scale: float
    """The attention's largest absolute output."""
    attention: Cost
    interior: Cost
    border: Cost


@dataclass(frozen=True)
class UncompiledLayer:
    """A layer that stays attention."""

    names: tuple[str, ...]
    num_heads: int
    reason: str
    heads: HeadToShift | None
    """What its heads look at, if that depends on the image and there are two images at least."""


@dataclass(frozen=True)
class WholeModel:
    """Both models on the same images, in eval mode."""

    num_images: int
    error: float
    """The largest absolute difference between the outputs."""
    scale: float
    """The original's largest absolute output."""
    seconds_before: float
    """Median time of the original for all these images."""
    seconds_after: float
    accuracy_before: float | None
    """As the caller measures it; None without a measure."""
    accuracy_after: float | None


@dataclass(frozen=True)
class CompilationReport:
    """All layers, those that stay attention with the reason, and the whole model."""

    tolerance: float
    layers: tuple[CompiledLayer, ...]
    kept: tuple[UncompiledLayer, ...]
    model: WholeModel

    @property
    def columns(self) -> tuple[str, ...]:
        return ("layer", "footprint", "left out", "error", "bound", "multiply-adds", "milliseconds")

    def rows(self) -> list[tuple[str, ...]]:
        """A line of words for each layer, compiled or not. Costs of an image: attention -> interior + border."""
        compiled = []
        for layer in self.layers:
            before, interior, border = layer.attention, layer.interior, layer.border
            compiled.append(
                (
                    ", ".join(layer.names),
                    str(layer.certificate.footprint),
                    f"{float(layer.certificate.missed.max()):.1e}",
                    f"{layer.error:.1e}",
                    f"{layer.bound:.1e}",
                    f"{count(before.macs)} -> {count(interior.macs)} + {count(border.macs)}",
                    f"{1e3 * before.seconds:.2f} -> {1e3 * interior.seconds:.2f} + {1e3 * border.seconds:.2f}",
                )
            )
        kept = [(", ".join(layer.names), "", "", "", "", "", f"attention: {layer.reason}") for layer in self.kept]
        return compiled + kept

    def table(self) -> Table:
        """The rows for `rich`."""
        return rich_table(self.columns, self.rows())

    def sentences(self) -> tuple[str, ...]:
        """The whole model in words, and what layers that look at the image look at."""
        model = self.model
        said = [
            f"{len(self.layers)} attention layers are convolutions now, {len(self.kept)} are not; the tolerance is "
            f"{self.tolerance:g} of each head's attention.",
            f"On {model.num_images} images the outputs differ by at most {model.error:.1e} (the largest is "
            f"{model.scale:.3g}); time {model.seconds_before:.3f} -> {model.seconds_after:.3f} s.",
        ]
        if model.accuracy_before is not None and model.accuracy_after is not None:
            said.append(f"Accuracy {model.accuracy_before:.4f} -> {model.accuracy_after:.4f}.")
        for layer in self.kept:
            if layer.heads is not None:
                peak, dependence = layer.heads.peak_mass.mean(), layer.heads.content_dependence.mean()
                said.append(
                    f"{', '.join(layer.names)}: the {layer.num_heads} heads put {float(peak):.2f} of their "
                    f"attention on their best shift (one would be Lemma 1), and their maps differ between images "
                    f"by {float(dependence):.2f} in total variation."
                )
        return tuple(said)
