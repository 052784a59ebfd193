"""A layer that starts as a convolution: Theorem 1 as an initialisation (also the idea of ConViT).

`initialize_from_convolution` writes a given convolution, random or trained, into an attention layer that can
express it. `ConvolutionalInitialization` is the same as an option of a model: every layer starts as a
convolution with random filters.
"""

from dataclasses import dataclass

import torch
from torch import nn

from headgrid.attention import GatedPositionalAttention, MultiheadAttention
from headgrid.geometry import kernel_shifts
from headgrid.layers import GroupedHeadMixing
from headgrid.scores.content import ContentScore
from headgrid.scores.position import GeneralizedQuadraticScore, QuadraticScore
from headgrid.theory.convert_convolution import checked_convolution
from headgrid.theory.lemma_2 import exact_sharpness, mass_off_center
from headgrid.theory.low_rank_convolution import factored
from headgrid.theory.theorem_1 import dense_kernel, mixing_weight, planar, planar_kernel

AttentionLayer = MultiheadAttention | GatedPositionalAttention


@torch.no_grad()
def initialize_from_convolution(
    layer: AttentionLayer, convolution: nn.Module, sharpness: float | None = None
) -> None:
    """Sets the layer's parameters, in place, so that it computes the convolution away from borders.

    The layer needs a (generalized) quadratic position score and a head for each kernel element. The default
    ``sharpness`` is exact; with a smaller one the layer starts near the convolution and its centres learn faster.
    Heads with value projections narrower than a pixel get the nearest matrices of their rank. A content score is
    silenced by keys of zero, from which it can grow. The position half of a gated layer becomes the convolution;
    how much of it comes through is up to its gates, which stay as they are.
    """
    source = checked_convolution(convolution)
    kernel, dilation = planar_kernel(source), planar(source.dilation, 1)
    rows, columns = kernel.shape[2:]
    _check_shapes(layer, source, rows * columns)
    sharpness = exact_sharpness(layer.mixing.weight.dtype) if sharpness is None else sharpness
    mass_off_center(sharpness)  # refuses what is not positive and finite

    score = _position_score(layer)
    score.centers.copy_(kernel_shifts((rows, columns), dilation))
    spread = (2 * sharpness) ** 0.5
    if isinstance(score, QuadraticScore):
        score.spreads.fill_(spread)
    else:
        score.spreads.copy_(spread * torch.eye(2).to(score.spreads).expand_as(score.spreads))

    if isinstance(layer.mixing, GroupedHeadMixing):
        if layer.mixing.num_groups != source.groups:
            raise ValueError(
                f"the layer mixes {layer.mixing.num_groups} groups of channels and the convolution has "
                f"{source.groups}: the numbers must be equal"
            )
        layer.mixing.weight.copy_(mixing_weight(kernel))
    elif layer.value is None:
        layer.mixing.weight.copy_(mixing_weight(dense_kernel(kernel, source.groups)))
    else:
        matrices = dense_kernel(kernel, source.groups).flatten(2).permute(2, 1, 0)
        factors = factored(matrices, layer.head_dim)
        layer.value.weight.copy_(factors.value.permute(0, 2, 1).flatten(0, 1))
        layer.mixing.weight.copy_(factors.output.flatten(0, 1).T)
        if layer.value.bias is not None:
            layer.value.bias.zero_()
    layer.mixing.bias.zero_()
    if source.bias is not None:
        layer.mixing.bias.copy_(source.bias)
    if isinstance(layer, MultiheadAttention) and layer.key is not None:
        layer.key.weight.zero_()
        if layer.key.bias is not None:
            layer.key.bias.zero_()


def _check_shapes(layer: AttentionLayer, source: nn.Conv1d | nn.Conv2d, num_elements: int) -> None:
    if num_elements != layer.num_heads:
        raise ValueError(
            f"the layer has {layer.num_heads} heads and the kernel {num_elements} elements: each needs its own head"
        )
    output_dim = layer.mixing.weight.shape[0]
    dim = layer.head_dim if layer.value is None else layer.value.in_features
    if (source.in_channels, source.out_channels) != (dim, output_dim):
        raise ValueError(
            f"the layer maps {dim} channels to {output_dim} and the convolution {source.in_channels} to "
            f"{source.out_channels}: the numbers must be equal"
        )
    if any(step != 1 for step in source.stride):
        raise ValueError(f"every pixel of a layer attends, and the convolution has stride {source.stride}")


def _position_score(layer: AttentionLayer) -> QuadraticScore | GeneralizedQuadraticScore:
    score = layer.score if isinstance(layer, MultiheadAttention) else layer.position
    quadratic = [term for term in score.terms if isinstance(term, QuadraticScore | GeneralizedQuadraticScore)]
    others = [term for term in score.terms if term not in quadratic and not isinstance(term, ContentScore)]
    if len(quadratic) != 1 or others:
        names = ", ".join(type(term).__name__ for term in score.terms)
        raise ValueError(
            f"a layer that starts as a convolution needs one quadratic score, alone or beside content; "
            f"it has {names}"
        )
    return quadratic[0]


@dataclass(frozen=True)
class DefaultInitialization:
    """Layers start as their parts draw their parameters."""

    def apply(self, model: nn.Module) -> None:
        pass


@dataclass(frozen=True)
class ConvolutionalInitialization:
    """Every attention layer starts as a convolution with random filters, drawn as PyTorch draws a convolution's."""

    sharpness: float = 1.0
    """How sharply heads look at their pixel: 1 is soft and learns fast, 20 is a convolution."""

    def apply(self, model: nn.Module) -> None:
        for layer in model.modules():
            if isinstance(layer, MultiheadAttention | GatedPositionalAttention):
                initialize_from_convolution(layer, random_convolution(layer), self.sharpness)


def random_convolution(layer: AttentionLayer) -> nn.Conv2d:
    """A new convolution with a square kernel, of the shape that the layer can express."""
    side = round(layer.num_heads**0.5)
    if side * side != layer.num_heads:
        raise ValueError(f"heads on a K x K kernel: their number must be a square, got {layer.num_heads}")
    output_dim = layer.mixing.weight.shape[0]
    dim = layer.head_dim if layer.value is None else layer.value.in_features
    groups = layer.mixing.num_groups if isinstance(layer.mixing, GroupedHeadMixing) else 1
    return nn.Conv2d(dim, output_dim, side, groups=groups)
