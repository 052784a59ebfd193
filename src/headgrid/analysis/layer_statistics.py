"""What is kept of a layer's maps while batches pass: everything that the measures are made of.

All that is linear in the weights follows from the mean map, so that a mean map and a few sums per head are enough,
for any number of images. They are kept in float64. The variance between images is summed by Welford's method, as
deviations from the mean so far, so that it is exactly zero where all images have the same map.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from headgrid.analysis.attention_record import LayerAttention
from headgrid.analysis.float64 import in_float64
from headgrid.analysis.pixel_shares import negative_shares, pixel_shares, token_shares
from headgrid.axes import SharedWeights

NUMBERS_AT_ONCE = 2**20
"""Maps are taken in by so many weights at a time, which stay in the cache: more is slower."""


class LayerStatistics:
    """Sums over the images seen so far of one layer."""

    def __init__(self, layer: LayerAttention) -> None:
        self.name, self.placement = layer.name, layer.placement
        self.num_heads, self.num_tokens = layer.num_heads, _num_tokens(layer)
        self.num_images = 0
        one_image = in_float64(layer.weights[0, :, :0])
        self.mean_map: SharedWeights = one_image.new_zeros(layer.weights.shape[1:])
        """Mean over images of the shares of each query's attention."""
        self.squared_deviation: Float[Tensor, "n"] = one_image.new_zeros(self.num_heads)
        """Sum over images, queries and keys of the squared distance from the mean map."""
        self.products: Float[Tensor, "n n"] = one_image.new_zeros(self.num_heads, self.num_heads)
        """Sum over images, queries and keys of the products of any two heads."""
        self.entropy_sum: Float[Tensor, "n"] = one_image.new_zeros(self.num_heads)
        self.token_share_sum: Float[Tensor, "n"] = one_image.new_zeros(self.num_heads)
        self.negative_share_sum: Float[Tensor, "n"] = one_image.new_zeros(self.num_heads)

    def add(self, layer: LayerAttention) -> None:
        """Takes in one more batch of the same layer."""
        self._check(layer)
        if layer.same_for_all_images:
            self._add_image(layer.weights[0], layer.num_images)
        else:
            for weights in layer.weights:
                self._add_image(weights, 1)
        self.token_share_sum += token_shares(layer).sum(dim=0).to(self.token_share_sum)

    @property
    def entropy(self) -> Float[Tensor, "n"]:
        """The mean entropy of a query's shares, in nats."""
        return self.entropy_sum / self.num_images

    @property
    def token_share(self) -> Float[Tensor, "n"]:
        return self.token_share_sum / self.num_images

    @property
    def negative_share(self) -> Float[Tensor, "n"]:
        return self.negative_share_sum / self.num_images

    def _add_image(self, weights: SharedWeights, copies: int) -> None:
        before, self.num_images = self.num_images, self.num_images + copies
        numbers_per_row = weights[:, 0].numel()
        num_rows = max(1, NUMBERS_AT_ONCE // numbers_per_row)
        for some, mean in zip(weights.split(num_rows, dim=1), self.mean_map.split(num_rows, dim=1), strict=True):
            self._add_rows(some, mean, copies, before)

    def _add_rows(self, weights: SharedWeights, mean: SharedWeights, copies: int, before: int) -> None:
        """Takes in some rows of queries of an image, which ``copies`` images share, after ``before`` others."""
        if not bool(weights.isfinite().all()):
            raise ValueError(f"attention weights of layer {self.name} are not finite: nothing can be measured")
        shares = pixel_shares(weights)
        deviation = shares - mean
        mean += deviation * (copies / self.num_images)
        squares = deviation.flatten(1).square_().sum(dim=1)
        self.squared_deviation += squares * (before * copies / self.num_images)
        maps = shares.flatten(1)
        self.products += copies * (maps @ maps.T)
        num_queries = self.mean_map.shape[1] * self.mean_map.shape[2]
        self.entropy_sum += copies * torch.special.entr(maps).sum(dim=1) / num_queries
        self.negative_share_sum += copies * negative_shares(weights).sum(dim=(1, 2)) / num_queries

    def _check(self, layer: LayerAttention) -> None:
        now = (layer.num_heads, layer.placement, _num_tokens(layer))
        if now != (self.num_heads, self.placement, self.num_tokens):
            raise ValueError(
                f"layer {layer.name} has another number of heads, pixels or tokens in a later batch than in the "
                f"first: measure images of one size"
            )


def _num_tokens(layer: LayerAttention) -> int:
    return 0 if layer.tokens is None else layer.tokens.num_tokens
