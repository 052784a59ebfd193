"""Equations 9 and 16: the dot product of target and encoding is the score of the module, up to a constant."""

import pytest
import torch

from headgrid.encodings.generalized_quadratic import generalized_quadratic_encoding, generalized_quadratic_target
from headgrid.encodings.quadratic import quadratic_encoding, quadratic_target
from headgrid.geometry import relative_shift
from headgrid.ops import attention_weights, grid_softmax
from headgrid.scores.position import GeneralizedQuadraticScore, QuadraticScore

GRID = (4, 7)


def _weights(score):
    parts = score(GRID)
    return attention_weights(rows=parts.rows, columns=parts.columns, dense=parts.dense)[0]


def test_quadratic_encoding_number_by_number():
    shift = torch.tensor([[2.0, -3.0]], dtype=torch.float64)
    assert quadratic_encoding(shift).tolist() == [[13.0, 2.0, -3.0]]
    center, sharpness = torch.tensor([[1.0, -0.5]]), torch.tensor([3.0])
    assert quadratic_target(center, sharpness).tolist() == [[-3.0, 6.0, -3.0]]


def test_generalized_encoding_number_by_number():
    shift = torch.tensor([[2.0, -3.0]], dtype=torch.float64)
    assert generalized_quadratic_encoding(shift).tolist() == [[2.0, -3.0, 4.0, 9.0, -6.0]]
    center, inverse_covariance = torch.tensor([[1.0, -0.5]]), torch.tensor([[[2.0, 0.5], [0.5, 4.0]]])
    assert generalized_quadratic_target(center, inverse_covariance).tolist() == [[1.75, -1.5, -1.0, -2.0, -0.5]]


def test_equation_9_gives_the_weights_of_the_quadratic_score():
    torch.manual_seed(0)
    centers, spreads = 2 * torch.randn(5, 2, dtype=torch.float64), torch.randn(5, dtype=torch.float64)
    score = QuadraticScore(centers, spreads)
    encoding = quadratic_encoding(relative_shift(*GRID).double())
    products = torch.einsum("np,hwyxp->nhwyx", quadratic_target(centers, spreads.square() / 2), encoding)
    torch.testing.assert_close(grid_softmax(products), _weights(score), rtol=0, atol=1e-12)


def test_equation_16_gives_the_weights_of_the_generalized_score():
    torch.manual_seed(0)
    centers, spreads = 2 * torch.randn(5, 2, dtype=torch.float64), torch.randn(5, 2, 2, dtype=torch.float64)
    score = GeneralizedQuadraticScore(centers, spreads)
    encoding = generalized_quadratic_encoding(relative_shift(*GRID).double())
    target = generalized_quadratic_target(centers, score.inverse_covariances())
    products = torch.einsum("np,hwyxp->nhwyx", target, encoding)
    torch.testing.assert_close(grid_softmax(products), _weights(score), rtol=0, atol=1e-12)


@pytest.mark.parametrize("spread", [0.3, -1.7])
def test_the_generalized_score_holds_the_isotropic_one(spread):
    """With S a multiple of the identity both say the same; the sign of a spread does not matter."""
    centers = torch.tensor([[0.7, -1.2], [0.0, 2.0]], dtype=torch.float64)
    isotropic = QuadraticScore(centers, torch.full((2,), spread, dtype=torch.float64))
    generalized = GeneralizedQuadraticScore(centers, spread * torch.eye(2, dtype=torch.float64).expand(2, 2, 2))
    torch.testing.assert_close(_weights(isotropic), _weights(generalized))
    torch.testing.assert_close(isotropic.inverse_covariances(), generalized.inverse_covariances())
