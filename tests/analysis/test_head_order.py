"""Heads side by side with those that look alike, against every order of them."""

from itertools import permutations

import numpy as np
import pytest

from headgrid.analysis.head_order import MOST_EXACT, head_order, pattern_distances, way_length


def patterns_of(num_heads, seed=0, shape=(3, 5)):
    return np.random.default_rng(seed).random((num_heads, *shape)) ** 3


def by_hand(first, second):
    first, second = first.flatten().tolist(), second.flatten().tolist()
    product = sum(a * b for a, b in zip(first, second, strict=True))
    return 1 - product / (sum(a * a for a in first) ** 0.5 * sum(b * b for b in second) ** 0.5)


def test_distances_by_hand():
    patterns = patterns_of(4)
    expected = [[by_hand(first, second) for second in patterns] for first in patterns]
    np.testing.assert_allclose(pattern_distances(patterns), expected, atol=1e-12)


@pytest.mark.parametrize("num_heads", range(1, 7))
@pytest.mark.parametrize("seed", range(4))
def test_the_shortest_of_all_orders(num_heads, seed):
    patterns = patterns_of(num_heads, seed)
    distances = pattern_distances(patterns)
    order = head_order(patterns)
    assert sorted(order) == list(range(num_heads))
    best = min(way_length(distances, way) for way in permutations(range(num_heads)))
    assert way_length(distances, order) == pytest.approx(best)
    peaks = [patterns[head].max() / patterns[head].sum() for head in (order[0], order[-1])]
    assert peaks[0] >= peaks[1]


def bumps(num_heads, width=40):
    """Heads that look at places in a row, each a little farther: their right order is plain."""
    places = np.linspace(3, width - 4, num_heads)
    return np.exp(-0.5 * (np.arange(width) - places[:, None]) ** 2 / 4)


@pytest.mark.parametrize("num_heads", [5, MOST_EXACT, MOST_EXACT + 1, 20])
def test_heads_in_a_row_are_found_again(num_heads):
    shuffled = np.random.default_rng(1).permutation(num_heads)
    order = shuffled[list(head_order(bumps(num_heads)[shuffled]))].tolist()
    assert order in (list(range(num_heads)), list(range(num_heads))[::-1])


@pytest.mark.parametrize("seed", range(3))
def test_many_heads_no_turn_and_no_greedy_way_is_shorter(seed):
    patterns = patterns_of(MOST_EXACT + 4, seed)
    distances, order = pattern_distances(patterns), list(head_order(patterns))
    assert sorted(order) == list(range(MOST_EXACT + 4))
    length = way_length(distances, order)
    for first in range(len(order)):
        for last in range(first + 1, len(order)):
            turned = order[:first] + order[first : last + 1][::-1] + order[last + 1 :]
            assert way_length(distances, turned) >= length - 1e-9
    for start in range(len(order)):
        way = [start]
        while len(way) < len(order):
            way.append(min(set(range(len(order))) - set(way), key=lambda head: distances[way[-1], head]))
        assert length <= way_length(distances, way) + 1e-9


def test_no_heads_and_a_head_that_looks_nowhere():
    assert head_order(np.zeros((0, 3, 4))) == ()
    patterns = bumps(4)
    patterns[2] = 0
    assert sorted(head_order(patterns)) == [0, 1, 2, 3]
    assert pattern_distances(patterns)[2].tolist() == [1.0] * 4
