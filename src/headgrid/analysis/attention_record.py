"""What a model attended to on a batch of images, in one form for all models.

A layer's weights lie on a grid of query pixels and a grid of key pixels, whatever the model calls them (pixels,
patches, tokens). Tokens that stand for no place of the image (class token, distillation token, registers) are kept
apart, and a `Placement` says where queries, keys and image lie on each other.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headgrid.axes import AttentionWeights


@dataclass(frozen=True)
class Placement:
    """Where the pixels of a layer stand: queries on the grid of the keys, and that grid on the image."""

    keys: tuple[int, int]
    """Rows and columns of the key pixels."""
    query_rows: tuple[int, ...]
    """The key row that each row of queries stands on: 0, 1, 2... unless the layer has a stride or pads its map."""
    query_columns: tuple[int, ...]
    """The same for columns."""
    pixel_size: tuple[float, float]
    """Rows and columns of the image that one key pixel stands for: the patch size."""
    padding: tuple[int, int] = (0, 0)
    """Key rows above and key columns left of the image, where a layer pads its input."""

    @classmethod
    def of_grid(cls, grid: tuple[int, int], image_size: tuple[int, int], stride: int = 1) -> "Placement":
        """Every pixel of the grid is a key; every pixel, or every ``stride``-th, attends."""
        (height, width), (image_height, image_width) = grid, image_size
        return cls(
            keys=grid,
            query_rows=tuple(range(0, height, stride)),
            query_columns=tuple(range(0, width, stride)),
            pixel_size=(image_height / height, image_width / width),
        )

    @property
    def queries(self) -> tuple[int, int]:
        """Rows and columns of the query pixels."""
        return len(self.query_rows), len(self.query_columns)

    def shifts(self) -> Int[Tensor, "h w y x 2"]:
        """The shift ``key - query`` in key pixels, as (rows, columns), of every pair."""
        rows = torch.arange(self.keys[0]) - torch.tensor(self.query_rows)[:, None]
        columns = torch.arange(self.keys[1]) - torch.tensor(self.query_columns)[:, None]
        pairs = torch.broadcast_tensors(rows[:, None, :, None], columns[None, :, None, :])
        return torch.stack(pairs, dim=-1)


@dataclass(frozen=True)
class TokenAttention:
    """The attention from and to tokens that stand for no place of the image: class token, registers."""

    to_pixels: Float[Tensor, "b n t y x"]
    """How much token t looks at key pixel (y, x)."""
    from_pixels: Float[Tensor, "b n h w t"]
    """How much query pixel (h, w) looks at token t."""
    among: Float[Tensor, "b n t s"]
    """How much token t looks at token s."""

    @property
    def num_tokens(self) -> int:
        return self.among.shape[-1]


@dataclass(frozen=True)
class LayerAttention:
    """The attention of one layer on a batch of images.

    With tokens, the weights of a query pixel and those to the tokens sum to one together. Layers that do not look
    at the image have one map for all images, expanded along the batch: it takes the memory of one.
    """

    name: str
    """The layer's name in the model; each pass through a layer that is used again has a name of its own."""
    weights: AttentionWeights
    """From pixels to pixels: image, head, query row, query column, key row, key column."""
    placement: Placement
    """Where query and key pixels stand."""
    tokens: TokenAttention | None = None
    """From and to the class token and its like, in a model that has some."""

    @property
    def num_images(self) -> int:
        return self.weights.shape[0]

    @property
    def num_heads(self) -> int:
        return self.weights.shape[1]

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the key pixels."""
        return self.placement.keys

    @property
    def same_for_all_images(self) -> bool:
        """Whether one map was expanded along the batch, so that its first image says everything."""
        return self.num_images > 1 and self.weights.stride(0) == 0

    def of_query(self, row: int, column: int) -> Float[Tensor, "b n y x"]:
        """What one query pixel looks at."""
        height, width = self.placement.queries
        if not (0 <= row < height and 0 <= column < width):
            raise ValueError(
                f"there is no query pixel ({row}, {column}) in layer {self.name}: its rows go from 0 to "
                f"{height - 1} and its columns from 0 to {width - 1}"
            )
        return self.weights[:, :, row, column]

    def matrix(self) -> Float[Tensor, "b n queries keys"]:
        """The weights with tokens and pixels counted through, tokens first: the softmax as a transformer has it."""
        pixels = self.weights.flatten(4, 5).flatten(2, 3)
        if self.tokens is None:
            return pixels
        tokens = torch.cat([self.tokens.among, self.tokens.to_pixels.flatten(3)], dim=-1)
        return torch.cat([tokens, torch.cat([self.tokens.from_pixels.flatten(2, 3), pixels], dim=-1)], dim=-2)


def layer_of_matrix(
    name: str, matrix: Float[Tensor, "b n queries keys"], placement: Placement, num_tokens: int
) -> LayerAttention:
    """The inverse of `LayerAttention.matrix`: the first tokens of a softmax's rows and columns come apart."""
    height, width = placement.queries
    pixels = matrix[..., num_tokens:, num_tokens:].unflatten(-1, placement.keys).unflatten(2, (height, width))
    if num_tokens == 0:
        return LayerAttention(name, pixels, placement)
    tokens = TokenAttention(
        to_pixels=matrix[..., :num_tokens, num_tokens:].unflatten(-1, placement.keys),
        from_pixels=matrix[..., num_tokens:, :num_tokens].unflatten(2, (height, width)),
        among=matrix[..., :num_tokens, :num_tokens],
    )
    return LayerAttention(name, pixels, placement, tokens)


@dataclass(frozen=True)
class AttentionRecord:
    """The attention of every layer of a model on a batch of images, in the order in which the layers ran."""

    layers: dict[str, LayerAttention]
    """By name."""
    output: Any
    """What the model returned; of a classifier the logits."""
    image_size: tuple[int, int]
    """Rows and columns of the images."""
    left_out: dict[str, str]
    """Layers whose attention is no map of the image, such as a pooling by attention, with the reason."""

    def __getitem__(self, name: str) -> LayerAttention:
        if name not in self.layers:
            raise ValueError(f"there is no attention layer {name!r}: the model has {', '.join(self.layers)}")
        return self.layers[name]

    def __iter__(self) -> Iterator[LayerAttention]:
        return iter(self.layers.values())

    def __len__(self) -> int:
        return len(self.layers)
