"""Where Gaussian heads look: at their centres."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headgrid.ops import attention_weights
from headgrid.scores.position import GeneralizedQuadraticScore, QuadraticScore

GRID = (9, 12)
QUERY = (4, 5)


def _weights(score, grid=GRID):
    parts = score(grid)
    return attention_weights(rows=parts.rows, columns=parts.columns, dense=parts.dense)[0]


def _most_looked_at(weights, query=QUERY):
    """The shift from a query to the key with the largest weight, for each head."""
    maps = weights[:, query[0], query[1]]
    places = maps.flatten(1).argmax(1).tolist()
    width = maps.shape[-1]
    return [(place // width - query[0], place % width - query[1]) for place in places]


coordinates = st.floats(-3.4, 3.4).filter(lambda x: abs(abs(x) % 1 - 0.5) > 0.01)
spreads = st.floats(0.2, 3.0)


@settings(max_examples=60, deadline=None)
@given(st.tuples(coordinates, coordinates), spreads, st.sampled_from([-1, 1]))
def test_isotropic_heads_look_most_at_the_rounded_centre(center, spread, sign):
    score = QuadraticScore(
        torch.tensor([center], dtype=torch.float64), torch.tensor([sign * spread], dtype=torch.float64)
    )
    assert _most_looked_at(_weights(score)) == [(round(center[0]), round(center[1]))]


@settings(max_examples=60, deadline=None)
@given(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), spreads, spreads, st.floats(0, math.pi), st.booleans())
def test_generalized_heads_look_most_at_whole_centres(center, first, second, angle, mirrored):
    """For any invertible spread: a rotation times two sizes times a rotation."""
    turn = torch.tensor([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    spread = turn @ torch.diag(torch.tensor([first, -second if mirrored else second])) @ turn.T @ turn
    score = GeneralizedQuadraticScore(torch.tensor([center]).double(), spread.double()[None])
    assert _most_looked_at(_weights(score)) == [center]


def test_generalized_weights_fall_off_along_the_covariance():
    """A spread that is large along the rows makes a head that is thin there and long along the columns."""
    spread = torch.diag(torch.tensor([3.0, 0.1])).double()[None]
    weights = _weights(GeneralizedQuadraticScore(torch.zeros(1, 2).double(), spread))[0, 4, 5]
    assert weights[4, 6] > 0.9 * weights[4, 5]
    assert weights[5, 5] < 0.1 * weights[4, 5]


def test_sharpness_is_half_the_squared_spread():
    """One pixel off the centre the weight is exp(-alpha) times as large."""
    score = QuadraticScore(torch.zeros(1, 2), torch.tensor([1.3]))
    weights = _weights(score)[0, 4, 5]
    assert score.sharpness.item() == pytest.approx(0.845)
    assert (weights[4, 6] / weights[4, 5]).item() == pytest.approx(math.exp(-0.845), rel=1e-5)


def test_weights_move_with_the_query_away_from_borders():
    torch.manual_seed(0)
    score = GeneralizedQuadraticScore(torch.randn(3, 2), 3 * torch.eye(2).expand(3, 2, 2))
    weights = _weights(score, (15, 16))
    around_first, around_second = weights[:, 6, 7, 2:11, 3:12], weights[:, 8, 8, 4:13, 4:13]
    torch.testing.assert_close(around_first, around_second, rtol=1e-3, atol=1e-6)


def test_positions_stay_exact_in_a_model_of_half_precision():
    score = QuadraticScore(torch.tensor([[100.0, -90.0]]), torch.tensor([1.0])).half()
    parts = score((300, 4))
    assert parts.rows.dtype == torch.float32
    assert parts.rows.isfinite().all()
    assert parts.rows[0, 0, 20, 0].argmax() == 120
