"""Is a layer a convolution? Every head has one shift of its own, and the shifts together are those of a kernel."""

from collections.abc import Sequence
from itertools import product

from headgrid.analysis.kernel_cover import ROUNDING
from headgrid.analysis.measures import HeadMeasures, KernelShape


def kernel_shape(heads: Sequence[HeadMeasures], tolerance: float) -> KernelShape | None:
    """The kernel whose shifts the heads have, one each, with at least ``1 - tolerance`` of their attention.

    It may have any size, dilation and place. None if a head looks elsewhere too, if two heads have the same shift,
    or if a shift is missing.
    """
    shifts = {head.peak_shift for head in heads}
    if len(shifts) < len(heads) or any(head.peak_mass < 1 - tolerance - ROUNDING for head in heads):
        return None
    along = [sorted({shift[axis] for shift in shifts}) for axis in (0, 1)]
    if shifts != set(product(*along)) or not all(map(_is_regular, along)):
        return None
    rows, columns = along
    return KernelShape(
        size=(len(rows), len(columns)),
        dilation=(_step(rows), _step(columns)),
        middle=(rows[(len(rows) - 1) // 2], columns[(len(columns) - 1) // 2]),
    )


def _is_regular(positions: Sequence[int]) -> bool:
    return list(positions) == list(range(positions[0], positions[-1] + 1, _step(positions)))


def _step(positions: Sequence[int]) -> int:
    return positions[1] - positions[0] if len(positions) > 1 else 1
