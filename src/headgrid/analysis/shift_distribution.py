"""How the attention of each head is distributed over shifts ``delta = key - query``, over images and queries.

A convolution has one shift per head (Lemma 1, equation 10). Two means of the weight on a shift tell how near a head
comes to that: over *all* queries (``shares``, a distribution), and over the queries whose shifted pixel exists
(``masses``), which is one for a head of Lemma 1, whatever it does at the border.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headgrid.analysis.attention_record import AttentionRecord, Placement
from headgrid.analysis.mean_over_images import mean_over_images
from headgrid.analysis.pixel_shares import pixel_shares
from headgrid.axes import SharedWeights

Shift = tuple[int, int]


@dataclass(frozen=True)
class ShiftDistribution:
    """Entry (head, i, j) belongs to the shift ``(first[0] + i, first[1] + j)``."""

    shares: Float[Tensor, "n i j"]
    """Share of the attention of all queries that lies on the shift; sums to one over shifts."""
    num_queries: Int[Tensor, "i j"]
    """So many queries have the pixel at that shift."""
    num_all_queries: int
    first: Shift
    """The shift of entry (0, 0): the farthest up and left."""

    @property
    def masses(self) -> Float[Tensor, "n i j"]:
        """Mean weight on the shift over the queries whose shifted pixel exists; 0 where none exists."""
        return self.shares * self.num_all_queries / self.num_queries.clamp_min(1)

    def shifts(self) -> Int[Tensor, "i j 2"]:
        rows, columns = (
            torch.arange(first, first + size)
            for first, size in zip(self.first, self.num_queries.shape, strict=True)
        )
        return torch.stack(torch.meshgrid(rows, columns, indexing="ij"), dim=-1).to(self.num_queries.device)

    def peak_shifts(self) -> list[Shift]:
        """The shift with the largest share, of each head; the first of equally large ones."""
        num_columns = self.shares.shape[-1]
        peaks = self.shares.flatten(1).argmax(dim=1).tolist()
        return [(self.first[0] + peak // num_columns, self.first[1] + peak % num_columns) for peak in peaks]

    def mass(self, shift: Shift) -> Float[Tensor, "n"]:
        """Each head's mean weight on a shift, over the queries whose shifted pixel exists; 0 if none exists."""
        row, column = shift[0] - self.first[0], shift[1] - self.first[1]
        num_rows, num_columns = self.num_queries.shape
        if not (0 <= row < num_rows and 0 <= column < num_columns):
            return self.shares.new_zeros(len(self.shares))
        return self.masses[:, row, column]


def shift_distribution(mean_map: SharedWeights, placement: Placement, margin: int = 0) -> ShiftDistribution:
    """Sums the map over queries at equal shift: of one image, or, as nothing but sums is involved, of a mean.

    With a margin only queries count that are so many key pixels or more from each border. There the border, which
    pulls the mean of a wide head towards the middle of the map, matters less.
    """
    shifts = placement.shifts().to(mean_map.device)
    first = shifts.amin(dim=(0, 1, 2, 3))
    num_rows, num_columns = (shifts.amax(dim=(0, 1, 2, 3)) - first + 1).tolist()
    inside = _inside(placement, margin).to(mean_map.device)
    entries = ((shifts - first) @ torch.tensor([num_columns, 1], device=shifts.device))[inside].flatten()
    weights = mean_map[:, inside].flatten(1)
    sums = weights.new_zeros(len(weights), num_rows * num_columns).index_add_(1, entries, weights)
    num_queries = torch.bincount(entries, minlength=num_rows * num_columns)
    return ShiftDistribution(
        shares=sums.unflatten(1, (num_rows, num_columns)) / int(inside.sum()),
        num_queries=num_queries.view(num_rows, num_columns),
        num_all_queries=int(inside.sum()),
        first=(int(first[0]), int(first[1])),
    )


def shift_distributions(records: Iterable[AttentionRecord], margin: int = 0) -> dict[str, ShiftDistribution]:
    """The distributions of all layers over a stream of batches, by the layer's name."""
    placements: dict[str, Placement] = {}

    def shares(record: AttentionRecord) -> dict[str, Tensor]:
        placements.update({layer.name: layer.placement for layer in record})
        return {layer.name: pixel_shares(layer.weights) for layer in record}

    means = mean_over_images(records, shares)
    return {name: shift_distribution(mean, placements[name], margin) for name, mean in means.items()}


def _inside(placement: Placement, margin: int) -> Bool[Tensor, "h w"]:
    rows, columns = (
        torch.tensor([margin <= position < size - margin for position in positions])
        for positions, size in zip((placement.query_rows, placement.query_columns), placement.keys, strict=True)
    )
    inside = rows[:, None] & columns[None]
    if not inside.any():
        raise ValueError(
            f"no query is {margin} pixels or more from every border of a map of {placement.keys[0]} x "
            f"{placement.keys[1]}: choose a smaller margin"
        )
    return inside
