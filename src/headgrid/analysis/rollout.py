"""Attention rollout (Abnar & Zuidema 2020): what the last layer's tokens have looked at, through all layers.

Each layer hands on, to every token, a mix of the tokens that it looks at and, around the attention, the token
itself: ``A = (W + I) / 2`` with the attention W of its heads together; where the rows of W do not sum to one, those
of ``W + I`` are made to. The product of the layers' A, the last layer leftmost, says how much of every output token
comes from every input token, if values and feed-forwards are left out of account.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headgrid.analysis.attention_record import AttentionRecord, LayerAttention
from headgrid.analysis.float64 import in_float64
from headgrid.analysis.pixel_shares import pixel_shares
from headgrid.axes import TokenWeights

FuseHeads = Callable[[TokenWeights], Float[Tensor, "b t s"]]
"""From the maps of all heads to one."""


def mean_over_heads(weights: TokenWeights) -> Float[Tensor, "b t s"]:
    """As in the paper."""
    return weights.mean(dim=1)


def max_over_heads(weights: TokenWeights) -> Float[Tensor, "b t s"]:
    """A pixel counts if one head looks at it."""
    return weights.amax(dim=1)


def min_over_heads(weights: TokenWeights) -> Float[Tensor, "b t s"]:
    """A pixel counts if all heads look at it."""
    return weights.amin(dim=1)


@dataclass(frozen=True)
class Rollout:
    """How much of every output token comes from every input token: rows sum to one; tokens first, then pixels."""

    matrix: Float[Tensor, "b t s"]
    grid: tuple[int, int]
    num_tokens: int
    """Class tokens and registers; 0 where rollout went from pixel to pixel."""

    def of_token(self, token: int = 0) -> Float[Tensor, "b y x"]:
        """What a class token has looked at."""
        if not 0 <= token < self.num_tokens:
            raise ValueError(f"this rollout has no token {token}: it has {self.num_tokens} beside the pixels")
        return self._on_grid(self.matrix[:, token])

    def of_query(self, row: int, column: int) -> Float[Tensor, "b y x"]:
        """What a pixel has looked at."""
        height, width = self.grid
        if not (0 <= row < height and 0 <= column < width):
            raise ValueError(f"there is no pixel ({row}, {column}) on a grid of {height} x {width}")
        return self._on_grid(self.matrix[:, self.num_tokens + row * width + column])

    def received(self) -> Float[Tensor, "b y x"]:
        """What all pixels have looked at, as their mean: for models that classify the mean of their pixels."""
        return self._on_grid(self.matrix[:, self.num_tokens :].mean(dim=1))

    def _on_grid(self, of_tokens: Float[Tensor, "b s"]) -> Float[Tensor, "b y x"]:
        return of_tokens[:, self.num_tokens :].unflatten(-1, self.grid)


def rollout(record: AttentionRecord, fuse_heads: FuseHeads = mean_over_heads) -> Rollout:
    """The rollout through all layers of a record, with class tokens where the model has them."""
    first = _first(record)
    matrices = (_between_pixels(layer) if layer.tokens is None else in_float64(layer.matrix()) for layer in record)
    return Rollout(_product(matrices, fuse_heads), first.grid, _num_tokens(first))


def rollout_between_pixels(record: AttentionRecord, fuse_heads: FuseHeads = mean_over_heads) -> Rollout:
    """The rollout without class tokens: what goes to them is left out, and the rest made to sum to one."""
    first = _first(record)
    return Rollout(_product(map(_between_pixels, record), fuse_heads), first.grid, 0)


def _product(matrices: Iterable[TokenWeights], fuse_heads: FuseHeads) -> Float[Tensor, "b t s"]:
    product = None
    for matrix in matrices:
        fused = fuse_heads(matrix)
        mixed = fused + torch.eye(fused.shape[-1]).to(fused)
        mixed = mixed / mixed.sum(dim=-1, keepdim=True)
        product = mixed if product is None else mixed @ product
    assert product is not None
    return product


def _between_pixels(layer: LayerAttention) -> TokenWeights:
    return pixel_shares(layer.weights).flatten(4, 5).flatten(2, 3)


def _first(record: AttentionRecord) -> LayerAttention:
    """The first layer, if the maps of all of them can be multiplied."""
    if not len(record):
        raise ValueError("rollout needs at least one layer of attention, and the record has none")
    first = next(iter(record))
    for layer in record:
        placement = layer.placement
        if (placement.query_rows, placement.query_columns) != tuple(tuple(range(size)) for size in layer.grid):
            raise ValueError(
                f"rollout needs layers whose queries are their keys; in layer {layer.name} they differ"
            )
        if (layer.grid, _num_tokens(layer)) != (first.grid, _num_tokens(first)):
            raise ValueError(
                f"rollout multiplies the maps of all layers, but {layer.name} has another number of pixels or "
                f"tokens than {first.name}"
            )
    return first


def _num_tokens(layer: LayerAttention) -> int:
    return 0 if layer.tokens is None else layer.tokens.num_tokens
