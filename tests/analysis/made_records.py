"""Records made by hand, and loops over single pixels to compare measures with."""

from collections.abc import Iterator

import torch

from headgrid.analysis.attention_record import AttentionRecord, LayerAttention, Placement, layer_of_matrix

GRID = (3, 4)
PLACEMENT = Placement.of_grid(GRID, (6, 12))
STRIDED = Placement(keys=(5, 6), query_rows=(1, 3), query_columns=(1, 2, 4), pixel_size=(2.0, 3.0), padding=(1, 1))
"""Half the rows attend, unevenly spaced columns, on a padded map."""


def random_layer(
    num_images=3, num_heads=2, placement=PLACEMENT, num_tokens=0, name="layer", seed=0, dtype=torch.float64
) -> LayerAttention:
    """A softmax of random scores."""
    generator = torch.Generator().manual_seed(seed)
    num_queries = num_tokens + placement.queries[0] * placement.queries[1]
    num_keys = num_tokens + placement.keys[0] * placement.keys[1]
    scores = 2 * torch.randn(num_images, num_heads, num_queries, num_keys, generator=generator, dtype=dtype)
    return layer_of_matrix(name, scores.softmax(dim=-1), placement, num_tokens)


def gaussian_maps(centers, sharpness, height, width):
    """The maps of quadratic heads, in float64."""
    shifts = Placement.of_grid((height, width), (height, width)).shifts().double()
    return torch.stack(
        [
            (-alpha * (shifts - torch.tensor(center)).square().sum(-1))
            .flatten(2)
            .softmax(-1)
            .view(height, width, height, width)
            for center, alpha in zip(centers, sharpness, strict=True)
        ]
    )


def one_shift(height, width, shift):
    """The map of Lemma 1; a query whose pixel does not exist looks everywhere."""
    weights = torch.full((height, width, height, width), 1 / (height * width), dtype=torch.float64)
    for h in range(height):
        for w in range(width):
            y, x = h + shift[0], w + shift[1]
            if 0 <= y < height and 0 <= x < width:
                weights[h, w] = 0
                weights[h, w, y, x] = 1
    return weights


def layer_of(weights, name="layer", image_size=None) -> LayerAttention:
    """A layer whose every pixel attends to every pixel."""
    size = tuple(weights.shape[-2:])
    return LayerAttention(name, weights, Placement.of_grid(size, image_size or size))


def record_of(*layers, image_size=(6, 12), left_out=None) -> AttentionRecord:
    return AttentionRecord({layer.name: layer for layer in layers}, None, image_size, left_out or {})


def in_loops(layer: LayerAttention, head: int) -> Iterator[tuple[int, tuple[int, int], tuple[int, int], float]]:
    """(image, query, shift, share) for every image, query and key, one after the other.

    A share is the absolute weight over the sum of the query's absolute weights on pixels.
    """
    placement = layer.placement
    for image in range(layer.num_images):
        for h, row in enumerate(placement.query_rows):
            for w, column in enumerate(placement.query_columns):
                weights = layer.weights[image, head, h, w].abs().tolist()
                total = sum(map(sum, weights))
                for y, of_row in enumerate(weights):
                    for x, weight in enumerate(of_row):
                        yield image, (h, w), (y - row, x - column), weight / total


def num_queries(layer: LayerAttention) -> int:
    return len(layer.placement.query_rows) * len(layer.placement.query_columns)
