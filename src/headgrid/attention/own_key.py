"""Layers without a key of their own: they work on the key that an earlier layer projected."""

from torch import nn

WITHOUT_KEY = "this attention layer was built without a key of its own: hand it the key to work on"


def own(projection: nn.Linear | None) -> nn.Linear:
    """The key projection of a layer that was given no key."""
    if projection is None:
        raise ValueError(WITHOUT_KEY)
    return projection
