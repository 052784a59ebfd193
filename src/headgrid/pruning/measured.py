"""What the analysis measures of every head, brought into the order of the layers that lose heads."""

from collections.abc import Callable, Sequence

from headgrid.analysis.measure_attention import measure_attention
from headgrid.analysis.measures import LayerMeasures
from headgrid.pruning.criterion import Batches, Measured
from headgrid.pruning.prunable_layers import PrunableLayer, PrunableModel

OfHeads = Callable[[LayerMeasures], Sequence[float]]
"""One number for each head of a layer."""


def mean_over_passes(
    model: PrunableModel, layers: Sequence[PrunableLayer], batches: Batches, of_heads: OfHeads
) -> tuple[Measured, ...]:
    """A number for each head; of passes that lose their heads together, the mean over the passes."""
    measures = measured_passes(model, layers, batches)
    return tuple(
        Measured(layer.name, head, sum(values) / len(values))
        for layer in layers
        if layer.num_heads
        for head, values in enumerate(zip(*(of_heads(each) for each in measures[layer.name]), strict=True))
    )


def measured_passes(
    model: PrunableModel, layers: Sequence[PrunableLayer], batches: Batches
) -> dict[str, list[LayerMeasures]]:
    """The measures of each pass through a layer, for layers that have heads."""
    measured = measure_attention(model, batches)
    by_name = {layer.layer: layer for layer in measured.layers}
    for layer in layers:
        for name in layer.names_of_passes:
            if layer.num_heads and name not in by_name:
                raise ValueError(
                    f"layer {name} cannot be judged: {measured.left_out.get(name, 'it was not recorded')}"
                )
    return {layer.name: [by_name[name] for name in layer.names_of_passes] for layer in layers if layer.num_heads}
