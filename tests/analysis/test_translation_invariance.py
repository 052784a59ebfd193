"""Does a head do the same everywhere?"""

import pytest
import torch
from made_records import PLACEMENT, STRIDED, gaussian_maps, one_shift, random_layer

from headgrid.analysis.attention_record import Placement
from headgrid.analysis.shift_distribution import shift_distribution
from headgrid.analysis.translation_invariance import translation_invariances
from headgrid.theory import head_to_shift


def _invariances(maps, placement, **options):
    return translation_invariances(maps, placement, shift_distribution(maps, placement), **options)


@pytest.mark.parametrize("placement", [PLACEMENT, STRIDED], ids=["grid", "strided"])
def test_against_the_iteration_written_out(placement):
    maps = random_layer(placement=placement).weights.mean(dim=0)
    for most_steps in (0, 1, 7):
        found = _invariances(maps, placement, most_steps=most_steps)
        for head in range(2):
            expected = _in_loops(maps[head].tolist(), placement, most_steps)
            assert float(found[head]) == pytest.approx(expected)


def _in_loops(head_map, placement, num_steps):
    queries = [(h, w) for h in range(placement.queries[0]) for w in range(placement.queries[1])]
    keys = [(y, x) for y in range(placement.keys[0]) for x in range(placement.keys[1])]

    def shift(query, key):
        return key[0] - placement.query_rows[query[0]], key[1] - placement.query_columns[query[1]]

    def weight(query, key):
        return head_map[query[0]][query[1]][key[0]][key[1]]

    having = {}
    for query in queries:
        for key in keys:
            having.setdefault(shift(query, key), []).append((query, key))
    totals = {delta: sum(weight(*pair) for pair in pairs) for delta, pairs in having.items()}
    weights = {delta: totals[delta] / len(pairs) for delta, pairs in having.items()}
    for _ in range(num_steps):
        sums = {query: sum(weights[shift(query, key)] for key in keys) for query in queries}
        weights = {delta: totals[delta] / sum(1 / sums[q] for q, _ in pairs) for delta, pairs in having.items()}
    sums = {query: sum(weights[shift(query, key)] for key in keys) for query in queries}
    distances = [
        0.5 * sum(abs(weight(query, key) - weights[shift(query, key)] / sums[query]) for key in keys)
        for query in queries
    ]
    return 1 - sum(distances) / len(distances)


def test_the_beginning_is_the_position_dependence_of_the_theory():
    layer = random_layer()
    expected = 1 - head_to_shift(layer.weights).position_dependence
    torch.testing.assert_close(_invariances(layer.weights.mean(dim=0), PLACEMENT, most_steps=0), expected)


def test_scores_of_the_shift_alone_are_invariant_however_much_the_border_cuts():
    maps = gaussian_maps([(0.0, 0.0), (1.5, -1.0), (3.0, 4.0)], [2.0, 0.05, 0.3], 8, 10)
    found = _invariances(maps, Placement.of_grid((8, 10), (8, 10)))
    assert (found > 0.999).all()
    assert (found <= 1).all()


def test_uniform_attention_is_invariant_and_a_fixed_pixel_is_not():
    uniform, fixed = torch.full((2, 5, 6, 5, 6), 1 / 30, dtype=torch.float64)
    fixed = torch.zeros_like(fixed)
    fixed[..., 2, 3] = 1
    found = _invariances(torch.stack([uniform, fixed]), Placement.of_grid((5, 6), (5, 6)))
    assert float(found[0]) == pytest.approx(1)
    assert float(found[1]) < 0.5


def test_a_head_of_lemma_1_differs_only_where_its_pixel_is_missing():
    found = _invariances(one_shift(6, 7, (0, 1))[None], Placement.of_grid((6, 7), (6, 7)))
    assert 0.8 < float(found) < 1
