"""Pruning by importance (Michel, Levy and Neubig 2019): heads go on whose gate the loss hardly depends."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from headgrid.evaluation.accuracy import eval_mode
from headgrid.pruning.criterion import Batches, Measured, RankedCriterion
from headgrid.pruning.head_gates import gated_heads
from headgrid.pruning.prunable_layers import PrunableLayer, PrunableModel


@dataclass(frozen=True)
class Gradient(RankedCriterion):
    """Heads go that matter little to the loss: the mean over images of ``|d loss / d gate|``, in each layer divided
    by the root of the sum of squares over its heads."""

    threshold: float = 0.05
    """Heads with this importance or less go; equal heads of a layer with n heads have ``1 / sqrt(n)``."""

    def measure(
        self, model: PrunableModel, layers: Sequence[PrunableLayer], batches: Batches
    ) -> tuple[Measured, ...]:
        importance = head_importance(model, layers, batches)
        return tuple(
            Measured(name, head, value)
            for name, of_heads in importance.items()
            for head, value in enumerate(_normalised(of_heads).tolist())
        )

    def weakness(self, value: float) -> float:
        return -value

    def in_words(self, value: float) -> str:
        return f"matters little to the loss: importance {value:.2g}"


def head_importance(
    model: PrunableModel, layers: Sequence[PrunableLayer], batches: Iterable[tuple[Tensor, Tensor]]
) -> dict[str, Float[Tensor, "n"]]:
    """The mean over images of ``|d loss(image) / d gate_h|`` for each head, by layer; in eval mode, exact.

    Every image has gates of its own, so that one backward pass gives the derivatives of each image's loss apart.
    """
    sums = {layer.name: torch.zeros(layer.num_heads, dtype=torch.float64) for layer in layers if layer.num_heads}
    gated = [layer for layer in layers if layer.num_heads]
    num_images = 0
    device = next(model.parameters()).device
    with eval_mode(model), torch.enable_grad():
        for images, labels in batches:
            gates = {
                layer.name: torch.ones(len(images), layer.num_heads, device=device, requires_grad=True)
                for layer in gated
            }
            with gated_heads(gated, gates):
                loss = F.cross_entropy(model(images.to(device)), labels.to(device), reduction="sum")
            for name, gradient in zip(gates, torch.autograd.grad(loss, list(gates.values())), strict=True):
                sums[name] += gradient.abs().sum(0).double().cpu()
            num_images += len(images)
    if num_images == 0:
        raise ValueError("there are no images to judge heads on: expected at least one batch")
    return {name: total / num_images for name, total in sums.items()}


def _normalised(importance: Float[Tensor, "n"]) -> Float[Tensor, "n"]:
    """Layers are told apart by their scale otherwise, and the same few would lose all heads (Michel et al.)."""
    norm = importance.norm()
    return importance / norm if norm > 0 else importance
