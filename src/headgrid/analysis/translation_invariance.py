"""Does a head do the same everywhere? A convolution does, and so does a softmax over scores of the shift.

Such a softmax gives the query q the weight ``c(delta) / Z(q)`` at the shift delta, where Z(q) sums c over the
shifts that the query has: the border cuts the rest off. Whatever the map is, the c that explains it best (the one
of largest likelihood) solves ``sum_q a(q, q + delta) = c(delta) sum_q 1 / Z(q)``, with sums over the queries that
have the shift. Each step of the iteration takes c from the Z before it and explains the map better (Hunter 2004, MM
algorithms for generalized Bradley-Terry models); it begins with the mean weight of each shift.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from headgrid.analysis.attention_record import Placement
from headgrid.analysis.shift_distribution import ShiftDistribution
from headgrid.axes import SharedWeights

MOST_STEPS = 200
"""Enough for a head that looks at a far corner; most are done after ten."""
PRECISION = 1e-7
"""The iteration ends when a step changes no result by more."""


def translation_invariances(
    mean_map: SharedWeights,
    placement: Placement,
    distribution: ShiftDistribution,
    most_steps: int = MOST_STEPS,
) -> Float[Tensor, "n"]:
    """One minus the mean distance, in total variation, of a query's map from what weights of shifts explain.

    1 for every head whose scores depend on the shift alone; `distribution` is that of the same map.
    """
    shifts = placement.shifts() - torch.tensor(distribution.first)
    num_columns = distribution.num_queries.shape[1]
    entries = (shifts[..., 0] * num_columns + shifts[..., 1]).to(mean_map.device)
    totals = distribution.shares.flatten(1) * distribution.num_all_queries
    per_head = [
        _invariance(head_map, entries, total, distribution.masses[head].flatten(), most_steps)
        for head, (head_map, total) in enumerate(zip(mean_map, totals, strict=True))
    ]
    return torch.stack(per_head)


def _invariance(
    head_map: Float[Tensor, "h w y x"],
    entries: Tensor,
    totals: Float[Tensor, "shifts"],
    weights: Float[Tensor, "shifts"],
    most_steps: int,
) -> Float[Tensor, ""]:
    """Of one head; ``entries`` says which shift each pair has, ``totals`` is the attention of each shift."""
    invariance = head_map.new_zeros(())
    for step in range(most_steps + 1):
        of_pairs = weights[entries]
        normalizers = of_pairs.sum(dim=(-2, -1), keepdim=True)
        before, invariance = invariance, 1 - _distance(head_map, of_pairs / normalizers)
        if step == most_steps or (step > 0 and (invariance - before).abs() < PRECISION):
            break
        reciprocals = (1 / normalizers).expand_as(of_pairs).flatten()
        denominators = torch.zeros_like(totals).index_add_(0, entries.flatten(), reciprocals)
        weights = totals / torch.where(denominators > 0, denominators, 1.0)
    return invariance


def _distance(first: Float[Tensor, "h w y x"], second: Float[Tensor, "h w y x"]) -> Float[Tensor, ""]:
    """The total variation between two maps, as a mean over queries."""
    return 0.5 * (first - second).abs().sum(dim=(-2, -1)).mean()
