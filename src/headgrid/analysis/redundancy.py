"""Heads that look at the same: one of them could do for all."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor


def similarities(products: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    """Cosines between the maps of heads, from their products summed over all images, queries and keys."""
    lengths = torch.diagonal(products).sqrt()
    cosines = products / (lengths[:, None] * lengths)
    return cosines.fill_diagonal_(1.0).clamp(max=1.0)


def redundant_groups(similarity: Sequence[Sequence[float]], threshold: float) -> tuple[tuple[int, ...], ...]:
    """Groups of two heads or more, linked by similarities above the threshold, directly or through others."""
    left = set(range(len(similarity)))
    groups = []
    while left:
        group, added = set(), {min(left)}
        while added:
            group |= added
            left -= added
            added = {other for other in left for head in added if similarity[head][other] > threshold}
        if len(group) > 1:
            groups.append(tuple(sorted(group)))
    return tuple(groups)
