"""Do the heads of a layer cover a K x K kernel, a head of its own for every shift, as in Lemma 1?

Heads come in any order, so they are assigned to the kernel's shifts, each head at most once. The best *mean* mass
is the assignment problem; whether *every* shift can have a head within a tolerance is a matching between heads and
the shifts that they would do for. Both are solved exactly (``scipy.optimize.linear_sum_assignment``).
"""

from math import isqrt

import torch
from jaxtyping import Float
from torch import Tensor

from headgrid.analysis.measures import KernelCover
from headgrid.analysis.shift_distribution import Shift, ShiftDistribution
from headgrid.geometry import kernel_shifts

ROUNDING = 1e-6
"""What a softmax in float32 may miss of a sum of one."""


def best_cover(distribution: ShiftDistribution, kernel_size: int) -> KernelCover:
    """The assignment of different heads to the shifts of the kernel that has the largest mean mass."""
    shifts, masses = _masses(distribution, kernel_size)
    heads = _assign(masses)
    return KernelCover(
        kernel_size=kernel_size,
        heads=heads,
        shifts=shifts,
        masses=tuple(float(masses[head, index]) for index, head in enumerate(heads)),
    )


def largest_kernel(distribution: ShiftDistribution) -> int:
    """The largest K that the layer has heads enough for."""
    return isqrt(len(distribution.shares))


def covered_kernel_size(distribution: ShiftDistribution, tolerance: float) -> int:
    """The largest K such that every shift of a K x K kernel has a head of its own with ``1 - tolerance`` there."""
    for kernel_size in range(largest_kernel(distribution), 0, -1):
        _, masses = _masses(distribution, kernel_size)
        would_do = (masses >= 1 - tolerance - ROUNDING).double()
        heads = _assign(would_do)
        if all(would_do[head, index] for index, head in enumerate(heads)):
            return kernel_size
    return 0


def _masses(distribution: ShiftDistribution, kernel_size: int) -> tuple[tuple[Shift, ...], Float[Tensor, "n k"]]:
    shifts = tuple((row, column) for row, column in kernel_shifts((kernel_size, kernel_size)).tolist())
    return shifts, torch.stack([distribution.mass(shift) for shift in shifts], dim=1).cpu()


def _assign(gains: Float[Tensor, "n k"]) -> tuple[int, ...]:
    """A different head for every shift, with the largest sum of gains."""
    try:
        from scipy.optimize import linear_sum_assignment
    except ImportError as error:
        raise ValueError(
            "the assignment of heads to shifts needs scipy: pip install 'headgrid[analysis]'"
        ) from error
    shifts, heads = linear_sum_assignment(gains.T.numpy(), maximize=True)
    assert list(shifts) == list(range(gains.shape[1]))
    return tuple(int(head) for head in heads)
