"""Heads sorted so that alike ones stand side by side, as in figure 5 of the paper ("we reordered the heads").

The order is the shortest way through all heads, where the distance of two is one minus the cosine between their
patterns. It is exact for up to twelve heads; more are sorted by nearest neighbours, and parts of the way are turned
round until no turn makes it shorter. It starts at the end whose head is the more localized one.
"""

from itertools import combinations, pairwise

import numpy as np
from jaxtyping import Float
from numpy import ndarray

MOST_EXACT = 12
"""Heads for which every order is considered, through subsets: 12 * 2^12 of them."""


def head_order(patterns: Float[ndarray, "n *pixels"]) -> tuple[int, ...]:
    """The heads' numbers in their order; ``patterns`` are maps of any kind, such as those of one query pixel."""
    if len(patterns) == 0:
        return ()
    distances = pattern_distances(patterns)
    order = _shortest_way(distances) if len(patterns) <= MOST_EXACT else _improved_way(distances)
    flat = np.abs(patterns.reshape(len(patterns), -1))
    peaks = flat.max(axis=1) / np.maximum(flat.sum(axis=1), 1e-30)
    return tuple(order if peaks[order[0]] >= peaks[order[-1]] else order[::-1])


def pattern_distances(patterns: Float[ndarray, "n *pixels"]) -> Float[ndarray, "n n"]:
    """One minus the cosine between the patterns of any two heads; a pattern of zeros is far from all others."""
    flat = patterns.reshape(len(patterns), -1).astype(np.float64)
    units = flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-30)
    return 1 - units @ units.T


def way_length(distances: Float[ndarray, "n n"], order: tuple[int, ...] | list[int]) -> float:
    """The sum of the distances between neighbours."""
    return float(sum(distances[first, second] for first, second in pairwise(order)))


def _shortest_way(distances: Float[ndarray, "n n"]) -> list[int]:
    """Held and Karp: the shortest way through each set of heads that ends at a certain one, from small sets up."""
    num_heads = len(distances)
    lengths = np.full((1 << num_heads, num_heads), np.inf)
    before = np.zeros((1 << num_heads, num_heads), dtype=int)
    for head in range(num_heads):
        lengths[1 << head, head] = 0
    for heads in range(1, 1 << num_heads):
        for last in range(num_heads):
            rest = heads & ~(1 << last)
            if rest == heads or rest == 0:
                continue
            through = lengths[rest] + distances[:, last]
            before[heads, last] = int(through.argmin())
            lengths[heads, last] = through.min()
    heads = (1 << num_heads) - 1
    order = [int(lengths[heads].argmin())]
    while len(order) < num_heads:
        last = order[-1]
        order.append(int(before[heads, last]))
        heads &= ~(1 << last)
    return order


def _improved_way(distances: Float[ndarray, "n n"]) -> list[int]:
    """To the nearest head not visited yet, from every start; the best of them with parts turned round."""
    ways = (_turned(distances, _nearest_neighbours(distances, start)) for start in range(len(distances)))
    return min(ways, key=lambda way: way_length(distances, way))


def _nearest_neighbours(distances: Float[ndarray, "n n"], start: int) -> list[int]:
    order, left = [start], set(range(len(distances))) - {start}
    while left:
        order.append(min(left, key=lambda head: (distances[order[-1], head], head)))
        left.remove(order[-1])
    return order


def _turned(distances: Float[ndarray, "n n"], order: list[int]) -> list[int]:
    """Turns parts of the way round as long as that makes it shorter."""
    shorter = True
    while shorter:
        shorter = False
        for first, last in combinations(range(len(order)), 2):
            if _change(distances, order, first, last) < -1e-12:
                order = order[:first] + order[first : last + 1][::-1] + order[last + 1 :]
                shorter = True
    return order


def _change(distances: Float[ndarray, "n n"], order: list[int], first: int, last: int) -> float:
    """How much longer the way gets by turning ``first`` to ``last`` round: only its two ends get new neighbours."""
    change = 0.0
    if first > 0:
        change += distances[order[first - 1], order[last]] - distances[order[first - 1], order[first]]
    if last < len(order) - 1:
        change += distances[order[first], order[last + 1]] - distances[order[last], order[last + 1]]
    return float(change)
