"""Attention rollout against products written out, and on models with a known answer."""

import pytest
import torch
from made_records import GRID, STRIDED, layer_of, one_shift, random_layer, record_of

from headgrid.analysis.rollout import (
    max_over_heads,
    mean_over_heads,
    min_over_heads,
    rollout,
    rollout_between_pixels,
)

FUSIONS = {mean_over_heads: lambda values: sum(values) / len(values), max_over_heads: max, min_over_heads: min}


def _slow(matrices, fuse):
    """Lists of numbers, multiplied one by one; of one image."""
    product = None
    for heads in matrices:
        size = len(heads[0])
        mixed = [
            [fuse([head[t][s] for head in heads]) + (1.0 if t == s else 0.0) for s in range(size)]
            for t in range(size)
        ]
        mixed = [[value / sum(row) for value in row] for row in mixed]
        if product is None:
            product = mixed
        else:
            product = [
                [sum(mixed[t][u] * product[u][s] for u in range(size)) for s in range(size)] for t in range(size)
            ]
    return torch.tensor(product, dtype=torch.float64)


@pytest.mark.parametrize("fuse_heads", FUSIONS)
@pytest.mark.parametrize("num_tokens", [0, 2])
def test_against_loops(fuse_heads, num_tokens):
    layers = [random_layer(num_tokens=num_tokens, name=f"layer{seed}", seed=seed) for seed in range(3)]
    record = record_of(*layers)
    found = rollout(record, fuse_heads)
    torch.testing.assert_close(found.matrix.sum(dim=-1), torch.ones_like(found.matrix[..., 0]))
    assert found.num_tokens == num_tokens
    between = rollout_between_pixels(record, fuse_heads)
    assert between.num_tokens == 0
    for image in range(3):
        matrices = [layer.matrix()[image].tolist() for layer in layers]
        torch.testing.assert_close(found.matrix[image], _slow(matrices, FUSIONS[fuse_heads]))
        pixels = [layer.matrix()[image, :, num_tokens:, num_tokens:] for layer in layers]
        shares = [(weights / weights.sum(dim=-1, keepdim=True)).tolist() for weights in pixels]
        torch.testing.assert_close(between.matrix[image], _slow(shares, FUSIONS[fuse_heads]))


def test_views():
    found = rollout(record_of(random_layer(num_tokens=2)))
    assert torch.equal(found.of_token(1), found.matrix[:, 1, 2:].view(3, *GRID))
    assert torch.equal(found.of_query(1, 3), found.matrix[:, 2 + 7, 2:].view(3, *GRID))
    torch.testing.assert_close(found.received(), found.matrix[:, 2:, 2:].mean(dim=1).view(3, *GRID))
    with pytest.raises(ValueError, match="no token 2: it has 2"):
        found.of_token(2)
    with pytest.raises(ValueError, match="no pixel"):
        found.of_query(3, 0)


def test_shifts_add_up():
    """Two layers that look one pixel to the right: half of each comes from the pixel itself."""
    layers = [layer_of(one_shift(1, 5, (0, 1))[None, None], name) for name in ("first", "second")]
    seen = rollout(record_of(*layers, image_size=(1, 5))).of_query(0, 1)[0, 0]
    torch.testing.assert_close(seen, torch.tensor([0, 0.25, 0.5, 0.25, 0], dtype=torch.float64))


def test_negative_weights_count_by_their_absolute_values():
    weights = torch.tensor([[3.0, -1.0], [0.0, -2.0]]).view(1, 1, 1, 2, 1, 2)
    found = rollout(record_of(layer_of(weights), image_size=(1, 2)))
    torch.testing.assert_close(found.matrix[0], torch.tensor([[0.875, 0.125], [0, 1]], dtype=torch.float64))


def test_layers_that_cannot_be_multiplied():
    with pytest.raises(ValueError, match="queries are their keys"):
        rollout(record_of(random_layer(placement=STRIDED)))
    other = layer_of(torch.full((3, 2, 2, 2, 2, 2), 0.25), "other")
    with pytest.raises(ValueError, match="other has another number of pixels or tokens than layer"):
        rollout(record_of(random_layer(), other))
    with pytest.raises(ValueError, match="number of pixels or tokens"):
        rollout(record_of(random_layer(), random_layer(num_tokens=1, name="other")))
    with pytest.raises(ValueError, match="at least one layer"):
        rollout(record_of())
