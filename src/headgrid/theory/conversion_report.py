"""What `convert_network` did: layer by layer, and for the whole network."""

from dataclasses import dataclass

from rich.table import Table

from headgrid.theory.cost import count, rich_table


@dataclass(frozen=True)
class ConvertedLayer:
    """A convolution that became attention. What was not measured is None."""

    names: tuple[str, ...]
    """Where the layer stands in the model; several places if they share it."""
    kind: str
    """The convolution's type."""
    kernel_size: tuple[int, ...]
    num_heads: int
    num_parameters_before: int
    num_parameters_after: int
    error: float | None = None
    """The largest absolute difference between attention and convolution on the same input."""
    scale: float | None = None
    """The convolution's largest absolute output."""
    macs_before: int | None = None
    """Multiply-adds for one image."""
    macs_after: int | None = None

    @property
    def relative_error(self) -> float | None:
        if self.error is None or self.scale is None:
            return None
        return self.error / self.scale if self.scale else self.error


@dataclass(frozen=True)
class KeptLayer:
    """A layer that stays what it was."""

    names: tuple[str, ...]
    kind: str
    reason: str


@dataclass(frozen=True)
class Verification:
    """Both networks on the same images, in eval mode."""

    num_images: int
    error: float
    """The largest absolute difference between the outputs."""
    scale: float
    """The original's largest absolute output."""
    seconds_before: float
    """Median time of the original for all these images."""
    seconds_after: float


@dataclass(frozen=True)
class ConversionReport:
    """All layers, those that were not converted with the reason, and what the conversion costs."""

    layers: tuple[ConvertedLayer, ...]
    kept: tuple[KeptLayer, ...]
    num_parameters_before: int
    """Of the whole network."""
    num_parameters_after: int
    verification: Verification | None
    """None if no images were given."""

    @property
    def columns(self) -> tuple[str, ...]:
        return ("layer", "kernel", "heads", "parameters", "multiply-adds", "error", "relative error")

    def rows(self) -> list[tuple[str, ...]]:
        """A line of words for each layer, converted or not; costs are those of one image."""
        converted = [
            (
                ", ".join(layer.names),
                " x ".join(map(str, layer.kernel_size)),
                str(layer.num_heads),
                f"{layer.num_parameters_before:,} -> {layer.num_parameters_after:,}",
                _change(layer.macs_before, layer.macs_after),
                "" if layer.error is None else f"{layer.error:.1e}",
                "" if layer.relative_error is None else f"{layer.relative_error:.1e}",
            )
            for layer in self.layers
        ]
        kept = [(", ".join(layer.names), "", "", "", "", "", f"kept: {layer.reason}") for layer in self.kept]
        return converted + kept

    def table(self) -> Table:
        """The rows for `rich`."""
        return rich_table(self.columns, self.rows())

    def sentences(self) -> tuple[str, ...]:
        """The whole network in words."""
        said = [
            f"{len(self.layers)} convolutions are attention now, {len(self.kept)} are not; parameters "
            f"{self.num_parameters_before:,} -> {self.num_parameters_after:,}."
        ]
        if self.verification is not None:
            measured = self.verification
            said.append(
                f"On {measured.num_images} images the outputs differ by at most {measured.error:.1e} (the largest "
                f"is {measured.scale:.3g}); time {measured.seconds_before:.3f} -> {measured.seconds_after:.3f} s."
            )
        return tuple(said)


def _change(before: int | None, after: int | None) -> str:
    return "" if before is None or after is None else f"{count(before)} -> {count(after)}"
