"""Lemma 2: quadratic encodings make a head attend one pixel; equation 9 is the score that the layers compute."""

import pytest
import torch

from headgrid.encodings.generalized_quadratic import generalized_quadratic_encoding, generalized_quadratic_target
from headgrid.encodings.quadratic import quadratic_encoding, quadratic_target
from headgrid.geometry import kernel_shifts, relative_shift
from headgrid.ops import grid_softmax
from headgrid.scores.position import GeneralizedQuadraticScore, QuadraticScore
from headgrid.theory import exact_sharpness, lemma_2, mass_off_center


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_every_head_attends_its_shift(dtype):
    scores = lemma_2(kernel_shifts((3, 4)), dtype=dtype)
    assert scores.position_key.shape == (3, 3)
    assert scores.targets.dtype == dtype
    assert scores.deviation(6, 9) == 0


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_two_numbers_suffice_on_sequences(dtype):
    """The 1D remark: K heads and D_p = 2 attend the K shifts of a kernel."""
    scores = lemma_2(torch.tensor([[-2], [-1], [0], [1], [2]]), dtype=dtype)
    assert scores.position_key.shape == (2, 2)
    assert scores.deviation(1, 11) == 0


def test_wider_encodings_and_keys_change_nothing():
    narrow, wide = lemma_2(kernel_shifts((3, 3))), lemma_2(kernel_shifts((3, 3)), encoding_size=5, key_size=8)
    assert wide.position_key.shape == (8, 5)
    assert wide.targets.shape == (9, 8)
    torch.testing.assert_close(narrow.scores(5, 6), wide.scores(5, 6))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoding_size": 2}, "D_p >= 3 numbers for shifts of 2 coordinates, got D_p = 2"),
        ({"encoding_size": 4, "key_size": 3}, "D_k >= D_p: got D_k = 3 and D_p = 4"),
        ({"sharpness": 0.0}, "sharpness of a head must be positive and finite, got 0.0"),
        ({"sharpness": float("nan")}, "must be positive and finite, got nan"),
        ({"sharpness": float("inf")}, "must be positive and finite, got inf"),
        ({"dtype": torch.int64}, "no floating point type"),
    ],
)
def test_hypotheses_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        lemma_2(kernel_shifts((3, 3)), **options)
    with pytest.raises(ValueError, match="D_p >= 2 numbers for shifts of 1 coordinates, got D_p = 1"):
        lemma_2(torch.tensor([[0]]), encoding_size=1)


@pytest.mark.parametrize("num_axes", [1, 2])
@pytest.mark.parametrize("sharpness", [0.05, 0.3, 1.0, 4.0, 12.0])
def test_mass_off_centre_bounds_every_grid(sharpness, num_axes):
    """No head misses more on a finite grid; in the middle of a large one it misses nearly as much."""
    bound = mass_off_center(sharpness, num_axes)
    for length in (3, 8, 61):
        scores = -sharpness * (torch.arange(length, dtype=torch.float64)[:, None] - torch.arange(length)).square()
        kept = torch.softmax(scores, dim=1).diagonal()
        missed = 1 - kept**num_axes
        assert missed.max() <= bound + 1e-15
    assert missed[30] == pytest.approx(bound, rel=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_exact_sharpness_gives_one_and_zero(dtype):
    """Equation 10 holds to the last bit; with a tenth less it does not."""
    shifts = torch.arange(-6, 7, dtype=dtype)
    for sharpness, exact in ((exact_sharpness(dtype), True), (0.9 * exact_sharpness(dtype), False)):
        weights = torch.softmax(-sharpness * shifts.square(), dim=0)
        assert weights[6] == 1
        assert bool((weights[:6] == 0).all()) is exact
    assert exact_sharpness(torch.float16) == exact_sharpness(torch.bfloat16) == exact_sharpness(torch.float32)


@pytest.mark.parametrize("height_width", [(5, 7), (1, 6)])
def test_equation_9_gives_the_scores_of_the_layer(height_width):
    """v . r_delta and -alpha |delta - Delta|^2: equal up to alpha |Delta|^2, and equal after the softmax."""
    torch.manual_seed(0)
    height, width = height_width
    centers = torch.randn(6, 2, dtype=torch.float64) * 2
    spreads = torch.rand(6, dtype=torch.float64) + 0.5
    layer = QuadraticScore(centers, spreads)
    parts = layer((height, width))
    computed = parts.rows[0, :, :, :, :, None] + parts.columns[0, :, :, :, None, :]
    encoding = quadratic_encoding(relative_shift(height, width).double())
    target = quadratic_target(centers, layer.sharpness.detach())
    as_in_the_paper = torch.einsum("np,hwyxp->nhwyx", target, encoding)
    constant = (layer.sharpness * centers.square().sum(-1))[:, None, None, None, None]
    torch.testing.assert_close(as_in_the_paper - constant, computed)
    torch.testing.assert_close(grid_softmax(as_in_the_paper), grid_softmax(computed))


def test_equation_16_gives_the_scores_of_the_layer():
    """The five numbers of the generalized encoding, against -1/2 (delta - Delta)^T Sigma^-1 (delta - Delta)."""
    torch.manual_seed(0)
    centers = torch.randn(6, 2, dtype=torch.float64) * 2
    layer = GeneralizedQuadraticScore(centers, torch.randn(6, 2, 2, dtype=torch.float64))
    computed = layer((5, 7)).dense
    inverse = layer.inverse_covariances()
    shifts = relative_shift(5, 7).double()
    as_in_the_paper = torch.einsum(
        "np,hwyxp->nhwyx", generalized_quadratic_target(centers, inverse), generalized_quadratic_encoding(shifts)
    )
    constant = 0.5 * torch.einsum("ni,nij,nj->n", centers, inverse, centers)[:, None, None, None, None]
    torch.testing.assert_close(as_in_the_paper - constant, computed)
    torch.testing.assert_close(grid_softmax(as_in_the_paper), grid_softmax(computed))
    distance = shifts - centers[:, None, None, None, None, :]
    written_out = -0.5 * torch.einsum("nhwyxi,nij,nhwyxj->nhwyx", distance, inverse, distance)
    torch.testing.assert_close(written_out, computed)


def test_a_round_generalized_head_is_an_isotropic_one():
    centers, spreads = torch.tensor([[0.5, -1.0]]), torch.tensor([1.3])
    isotropic = QuadraticScore(centers, spreads)((4, 6))
    generalized = GeneralizedQuadraticScore(centers, spreads[:, None, None] * torch.eye(2))((4, 6))
    torch.testing.assert_close(
        generalized.dense, isotropic.rows[0, :, :, :, :, None] + isotropic.columns[0, :, :, :, None, :]
    )
