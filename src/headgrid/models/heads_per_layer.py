"""How many heads each layer has: the same in all, or what pruning has left of them."""

from headgrid.stacks import Hierarchical, Plain


def heads_of_layers(
    num_heads: int, heads_per_layer: tuple[int, ...] | None, num_layers: int, stack: Plain | Hierarchical
) -> tuple[int, ...]:
    """The number of heads of every layer; 0 is a layer that contributes its output bias alone."""
    if heads_per_layer is None:
        if num_heads < 1:
            raise ValueError(
                f"attention needs at least one head, got num_heads = {num_heads}; layers that pruning has left "
                f"without heads have 0 in heads_per_layer"
            )
        return (num_heads,) * num_layers
    if len(heads_per_layer) != num_layers:
        raise ValueError(f"heads_per_layer names {len(heads_per_layer)} layers and the model has {num_layers}")
    if min(heads_per_layer) < 0:
        raise ValueError(f"a layer has 0 heads or more, got heads_per_layer {heads_per_layer}")
    if isinstance(stack, Hierarchical) and len(set(heads_per_layer)) > 1:
        raise ValueError(
            f"hierarchical attention cannot have heads_per_layer {heads_per_layer}: its passes share weights or "
            f"key, so they must have the same number of heads; use a plain stack"
        )
    return heads_per_layer
