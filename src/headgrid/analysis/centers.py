"""Where quadratic heads look: centre and covariance of each head, and the curves that hold half of its attention.

Away from borders the weights of a quadratic head are a Gaussian of the shift, sampled at whole pixels. A share m
of a two-dimensional Gaussian lies within the ellipse ``(delta - centre)^T P (delta - centre) <= -2 ln(1 - m)``
with the inverse covariance P: the circles of 50 % and 90 % in figures 2, 3, 6 and 8 of the paper.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headgrid.scores.position import GeneralizedQuadraticScore, QuadraticScore


@dataclass(frozen=True)
class HeadCenters:
    """Where the heads of one layer look, as shifts (rows, columns) from the query pixel."""

    centers: Float[Tensor, "n 2"]
    inverse_covariances: Float[Tensor, "n 2 2"]


def head_centers(model: nn.Module) -> dict[str, HeadCenters]:
    """The heads of each attention layer with a quadratic score, by the layer's name; empty if there is none."""
    layers = {}
    for name, module in model.named_modules():
        if isinstance(module, QuadraticScore | GeneralizedQuadraticScore):
            layer = name.split(".score.")[0]
            layers[layer] = HeadCenters(module.centers.detach(), module.inverse_covariances().detach())
    return layers


def centers_of_layer(layer: nn.Module) -> HeadCenters | None:
    """The heads of one layer, if its score has a quadratic term."""
    return next(iter(head_centers(layer).values()), None)


def describe_centers(model: nn.Module) -> dict[str, Tensor]:
    """The same as named arrays, ``<layer>.centers`` and ``<layer>.inverse_covariances``: a row of centers.jsonl."""
    arrays = {}
    for layer, heads in head_centers(model).items():
        arrays[f"{layer}.centers"] = heads.centers
        arrays[f"{layer}.inverse_covariances"] = heads.inverse_covariances
    return arrays


def centers_of_row(row: dict) -> dict[str, HeadCenters]:
    """Reads a row of centers.jsonl back."""
    layers = [name.removesuffix(".centers") for name in row if name.endswith(".centers")]
    return {
        layer: HeadCenters(torch.tensor(row[f"{layer}.centers"]), torch.tensor(row[f"{layer}.inverse_covariances"]))
        for layer in layers
    }


@dataclass(frozen=True)
class Trajectories:
    """Where the heads of one layer looked, epoch by epoch (figure 2 of the paper and of the report)."""

    epochs: tuple[int, ...]
    """From 0, before the training, on."""
    centers: Float[Tensor, "epoch n 2"]
    inverse_covariances: Float[Tensor, "epoch n 2 2"]

    def at(self, epoch: int) -> HeadCenters:
        if epoch not in self.epochs:
            raise ValueError(f"the centres of epoch {epoch} were not written: there are {self.epochs}")
        index = self.epochs.index(epoch)
        return HeadCenters(self.centers[index], self.inverse_covariances[index])


def trajectories(rows: Iterable[dict]) -> dict[str, Trajectories]:
    """From the rows of a run's centers.jsonl; by the layer's name."""
    by_epoch = {row["epoch"]: centers_of_row(row) for row in rows}
    layers = dict.fromkeys(layer for heads in by_epoch.values() for layer in heads)
    found = {}
    for layer in layers:
        epochs = tuple(sorted(epoch for epoch, heads in by_epoch.items() if layer in heads))
        found[layer] = Trajectories(
            epochs=epochs,
            centers=torch.stack([by_epoch[epoch][layer].centers for epoch in epochs]),
            inverse_covariances=torch.stack([by_epoch[epoch][layer].inverse_covariances for epoch in epochs]),
        )
    return found


def contour(
    center: Float[Tensor, "2"], inverse_covariance: Float[Tensor, "2 2"], share: float, num_points: int = 64
) -> Float[Tensor, "points 2"]:
    """Points (row, column) on the ellipse that holds ``share`` of a head's attention.

    An inverse covariance that is singular in some direction gives an ellipse cut off at 1,000 pixels.
    """
    if not 0 < share < 1:
        raise ValueError(f"the share of the attention must lie between 0 and 1, got {share}")
    eigenvalues, directions = torch.linalg.eigh(inverse_covariance)
    radii = math.sqrt(-2 * math.log(1 - share)) / eigenvalues.clamp_min(1e-12).sqrt()
    angles = torch.linspace(0, 2 * math.pi, num_points + 1, dtype=center.dtype)[:-1]
    circle = torch.stack([angles.cos(), angles.sin()], dim=-1)
    return center + (circle * radii.clamp_max(1000.0)) @ directions.T
