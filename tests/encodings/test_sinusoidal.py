"""Sinusoids number by number, of positions and of shifts, in any precision."""

import math

import pytest
import torch

from headgrid.encodings import SinusoidalRelativeConfig, sinusoids


def test_every_number_by_its_formula():
    positions = torch.tensor([-3.0, 0.0, 1.0, 20.0], dtype=torch.float64)
    encoded = sinusoids(positions, 6)
    assert encoded.shape == (4, 6)
    for index, position in enumerate(positions.tolist()):
        for pair in range(3):
            angle = position / 10_000 ** (2 * pair / 6)
            assert encoded[index, 2 * pair].item() == pytest.approx(math.sin(angle), abs=1e-15)
            assert encoded[index, 2 * pair + 1].item() == pytest.approx(math.cos(angle), abs=1e-15)


def test_a_shift_has_the_sinusoids_of_key_minus_query():
    encoding, like = SinusoidalRelativeConfig().build(8, (3, 5)), torch.zeros(1, dtype=torch.float64)
    rows, columns = encoding.rows(3, like), encoding.columns(5, like)
    assert rows.shape == (3, 3, 4)
    assert columns.shape == (5, 5, 4)
    torch.testing.assert_close(rows[0, 2], sinusoids(torch.tensor(2.0, dtype=torch.float64), 4))
    torch.testing.assert_close(columns[4, 1], sinusoids(torch.tensor(-3.0, dtype=torch.float64), 4))
    assert not list(encoding.parameters())


def test_bfloat16_rounds_the_sinusoids_and_not_the_positions():
    """From 256 on bfloat16 knows even numbers only: shift 257 would have the encoding of 256."""
    encoding = SinusoidalRelativeConfig().build(8, (300, 300))
    exact = encoding.rows(300, torch.zeros(1))
    rounded = encoding.rows(300, torch.zeros(1, dtype=torch.bfloat16))
    assert rounded.dtype == torch.bfloat16
    torch.testing.assert_close(rounded.float(), exact, rtol=0, atol=2**-8)


def test_sizes_that_cannot_be_shared_out_are_refused():
    with pytest.raises(ValueError, match=r"even size \(a sine and a cosine each\), got 3"):
        sinusoids(torch.zeros(1), 3)
    with pytest.raises(ValueError, match="divisible by 4, got 6"):
        SinusoidalRelativeConfig().build(6, (3, 5))
