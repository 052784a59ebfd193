"""How far heads are from Lemma 1: do they attend one shift each, whatever the image shows?

For the weights a_b(q, k) of images b and query pixels q, as a layer records them:

- ``distribution``: the mean over images and queries of the weight on each shift delta = k - q. It sums to one;
- ``peak_shift``: the shift with the largest mean weight, the head's best candidate for f(h);
- ``peak_mass``: the mean weight on that shift over the queries whose shifted pixel exists. It is one exactly if the
  head fulfils equation 10, and ``1 - peak_mass`` is the mean distance from it in total variation;
- ``content_dependence``: the mean distance, in total variation, of an image's map from the mean map of all images:
  zero for heads that do not look at the image, at most ``1 - 1 / images``;
- ``position_dependence``: the mean distance of the mean map at a query from what the mean weights of the shifts,
  made to sum to one over the pixels that the query has, would give there.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headgrid.axes import AttentionWeights, SharedWeights


@dataclass(frozen=True)
class HeadToShift:
    """What each head of a layer looks at, as a function of the shift."""

    distribution: Float[Tensor, "n shift_rows shift_columns"]
    """Entry (head, H - 1 + rows, W - 1 + columns) is the mean weight on the shift (rows, columns)."""
    peak_shift: Int[Tensor, "n 2"]
    peak_mass: Float[Tensor, "n"]
    content_dependence: Float[Tensor, "n"]
    position_dependence: Float[Tensor, "n"]


def head_to_shift(weights: AttentionWeights) -> HeadToShift:
    """Measures the recorded weights of a layer on at least two images."""
    num_images, _, height, width = weights.shape[:4]
    if num_images < 2:
        raise ValueError("content dependence compares images: head_to_shift needs the weights of at least two")
    mean_map = weights.mean(dim=0)
    total = _sum_over_queries(mean_map)
    count = _num_queries(height, width).to(total)
    distribution = total / (height * width)
    peak = distribution.flatten(1).argmax(dim=1)
    peak_shift = torch.stack([peak // (2 * width - 1) - (height - 1), peak % (2 * width - 1) - (width - 1)], dim=1)
    mean_of_shift = total / count
    return HeadToShift(
        distribution=distribution,
        peak_shift=peak_shift,
        peak_mass=mean_of_shift.flatten(1).gather(1, peak[:, None])[:, 0],
        content_dependence=_mean_distance(weights, mean_map[None]).mean(dim=0),
        position_dependence=_mean_distance(mean_map, _from_shifts(mean_of_shift, height, width)),
    )


def _sum_over_queries(weights: SharedWeights) -> Float[Tensor, "n shift_rows shift_columns"]:
    num_heads, height, width = weights.shape[:3]
    total = weights.new_zeros(num_heads, 2 * height - 1, 2 * width - 1)
    for row in range(height):
        for column in range(width):
            there = total[:, height - 1 - row : 2 * height - 1 - row, width - 1 - column : 2 * width - 1 - column]
            there += weights[:, row, column]
    return total


def _num_queries(height: int, width: int) -> Float[Tensor, "shift_rows shift_columns"]:
    """So many queries of a grid have the pixel at each shift."""
    rows = height - torch.arange(1 - height, height).abs()
    columns = width - torch.arange(1 - width, width).abs()
    return (rows[:, None] * columns[None]).float()


def _from_shifts(
    mean_of_shift: Float[Tensor, "n shift_rows shift_columns"], height: int, width: int
) -> SharedWeights:
    """The map of each query that depends on the shift alone, up to its sum."""
    windows = mean_of_shift.unfold(1, height, 1).unfold(2, width, 1).flip(1, 2)  # n, query row and column, key ...
    return windows / windows.sum(dim=(-2, -1), keepdim=True)


def _mean_distance(
    first: Float[Tensor, "*images n h w y x"], second: Float[Tensor, "*#images n h w y x"]
) -> Float[Tensor, "*images n"]:
    """The total variation between two maps, averaged over their queries."""
    return 0.5 * (first - second).abs().sum(dim=(-2, -1)).mean(dim=(-2, -1))
