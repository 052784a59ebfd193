"""Lemma 2: an encoding of three numbers per shift lets a head attend exactly one pixel.

With ``r_delta = (|delta|^2, delta_1, delta_2)`` and ``v = -alpha (1, -2 Delta_1, -2 Delta_2)`` (equation 9) the
score ``v . (W_key_hat r_delta)`` is ``-alpha |delta - Delta|^2`` up to a constant, and its softmax tends to one at
the shift Delta as alpha grows. The lemma takes the limit. Floating point does not have to: once the weight of the
nearest rival rounds to zero, that of the shift is one and equation 10 holds to the last bit (`exact_sharpness`).

On sequences a shift has one coordinate, and two numbers suffice (the 1D remark after Theorem 1).
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headgrid.encodings.quadratic import quadratic_encoding, quadratic_target
from headgrid.geometry import relative_shift
from headgrid.theory.lemma_1 import deviation_from_shifts


def exact_sharpness(dtype: torch.dtype) -> float:
    """The sharpness alpha with which a softmax in this precision gives an integer centre one and all else zero.

    The nearest rivals weigh ``exp(-alpha)``. From ``ln(1 / eps)`` on (15.9 in float32, 36.0 in float64) they no
    longer show in a sum, but they are still there where a convolution reads nothing but zeros. So alpha goes on to
    where they round to zero themselves: below half the smallest number of the format, with two percent to spare
    (106 and 760). Models of half precision compute their position scores in float32, and take its sharpness.
    """
    if not dtype.is_floating_point:
        raise ValueError(f"attention weights are real numbers: {dtype} is no floating point type")
    format = torch.finfo(torch.promote_types(dtype, torch.float32))
    log_of_smallest = math.log(format.smallest_normal) + math.log(format.eps)
    return 1.02 * (math.log(2) - log_of_smallest)


def mass_off_center(sharpness: float, num_axes: int = 2) -> float:
    """At most this share of its attention a head gives to other pixels than its centre, on any grid that has it.

    Along one axis the weights are at most ``exp(-alpha k^2)`` at distance k, relative to the centre's; on an
    infinite axis they sum to ``theta = 1 + 2 sum_k exp(-alpha k^2)``, on a finite one to less. The centre keeps
    ``theta^-1`` of each axis. Exact arithmetic is assumed.
    """
    if not 0 < sharpness < math.inf:
        raise ValueError(f"the sharpness of a head must be positive and finite, got {sharpness}")
    rivals, distance = 0.0, 1
    while (weight := math.exp(-sharpness * distance**2)) > 1e-18 * rivals:
        rivals, distance = rivals + 2 * weight, distance + 1
    return -math.expm1(-num_axes * math.log1p(rivals))


@dataclass(frozen=True)
class PositionScores:
    """The last term of equation 8, ``v^T W_key_hat r_delta``, with the parameters that Lemma 2 chooses."""

    shifts: Int[Tensor, "n a"]
    """Delta of each head: the shift that it attends."""
    sharpness: float
    targets: Float[Tensor, "n d"]
    """v of each head, followed by zeros if keys are wider than encodings."""
    position_key: Float[Tensor, "d p"]
    """W_key_hat: the identity, padded with rows of zeros. W_qry, W_key and u are zero."""

    def encoding(self, shifts: Int[Tensor, "*grid a"]) -> Float[Tensor, "*grid p"]:
        """r_delta, followed by zeros if the encoding is wider than it needs to be."""
        encoded = quadratic_encoding(shifts.to(self.targets.dtype))
        return torch.nn.functional.pad(encoded, (0, self.position_key.shape[1] - encoded.shape[-1]))

    def scores(self, height: int, width: int) -> Float[Tensor, "n h w y x"]:
        """The scores on a grid; a sequence is a grid of one row."""
        shifts = relative_shift(height, width)[..., -self.shifts.shape[1] :]
        return torch.einsum("nd,dp,hwyxp->nhwyx", self.targets, self.position_key, self.encoding(shifts))

    def deviation(self, height: int, width: int) -> float:
        """How far the softmax is from equation 10 on a grid: the largest difference of any weight."""
        scores = self.scores(height, width)
        weights = torch.softmax(scores.flatten(3), dim=-1).view_as(scores)
        on_the_grid = torch.nn.functional.pad(self.shifts, (2 - self.shifts.shape[1], 0))
        return deviation_from_shifts(weights, on_the_grid)


def lemma_2(
    shifts: Int[Tensor, "n a"],
    sharpness: float | None = None,
    encoding_size: int | None = None,
    key_size: int | None = None,
    dtype: torch.dtype = torch.float64,
) -> PositionScores:
    """Scores whose softmax attends the given shift of each head and nothing else.

    ``encoding_size`` is D_p and ``key_size`` D_k; they default to the least that the lemma allows. The sharpness
    defaults to the one that is exact in ``dtype``.
    """
    num_heads, num_axes = shifts.shape
    smallest = num_axes + 1
    encoding_size = smallest if encoding_size is None else encoding_size
    key_size = encoding_size if key_size is None else key_size
    if encoding_size < smallest:
        raise ValueError(
            f"Lemma 2 needs an encoding of D_p >= {smallest} numbers for shifts of {num_axes} coordinates, "
            f"got D_p = {encoding_size}"
        )
    if key_size < encoding_size:
        raise ValueError(
            f"Lemma 2 needs keys at least as wide as the encoding, D_k >= D_p: got D_k = {key_size} and "
            f"D_p = {encoding_size}"
        )
    sharpness = exact_sharpness(dtype) if sharpness is None else sharpness
    mass_off_center(sharpness)  # refuses what is not positive and finite
    targets = quadratic_target(shifts.to(dtype), torch.full((num_heads,), sharpness, dtype=dtype))
    return PositionScores(
        shifts=shifts,
        sharpness=sharpness,
        targets=torch.nn.functional.pad(targets, (0, key_size - smallest)),
        position_key=torch.eye(key_size, encoding_size, dtype=dtype),
    )
