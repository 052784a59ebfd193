"""Attention written out by hand in a model: every common spelling gives the maps, and what is none gives none."""

import math

import pytest
import torch
import torch.nn.functional as F
from einops import einsum, rearrange
from foreign_networks import GRID, IMAGES, WIDTH, Patches, per_head, seeded, softmax_by_hand
from torch import nn

from headgrid.analysis import record_attention

NUM_HEADS = 2


class WrittenOut(nn.Module):
    """Projections, and an attention that ``apply(layer, query, key, value)`` spells."""

    def __init__(self, apply):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.dropout = nn.Dropout(0.5)
        self.apply_attention = apply

    def heads(self, tokens):
        return tuple(per_head(tokens, part, NUM_HEADS) for part in (self.query, self.key, self.value))

    def forward(self, tokens):
        return self.apply_attention(self, *self.heads(tokens)).transpose(1, 2).flatten(2)


SCALE = (WIDTH / NUM_HEADS) ** -0.5


def matmul(layer, query, key, value):
    return layer.dropout((query @ key.transpose(-2, -1) * SCALE).softmax(dim=-1)) @ value


def functional(layer, query, key, value):
    scores = torch.matmul(query / math.sqrt(WIDTH / NUM_HEADS), key.transpose(-1, -2))
    return torch.matmul(F.dropout(F.softmax(scores, dim=-1), 0.1, training=False), value)


def of_letters(layer, query, key, value):
    weights = torch.softmax(torch.einsum("bhid,bhjd->bhij", query, key) * SCALE, dim=-1)
    return torch.einsum("bhij,bhjd->bhid", weights, value)


def values_first(layer, query, key, value):
    weights = torch.softmax(torch.einsum("bhid,bhjd->bhij", query, key) * SCALE, dim=-1)
    return torch.einsum("bhjd, bhij -> bhid", value, weights)


def keys_before_queries(layer, query, key, value):
    """Softmax over the second axis from behind; the letters say which axis is which."""
    weights = torch.softmax(torch.einsum("bhid,bhjd->bhji", query, key) * SCALE, dim=-2)
    return torch.einsum("bhji,bhjd->bhid", weights, value)


def by_einops(layer, query, key, value):
    weights = (einsum(query, key, "b h i d, b h j d -> b h i j") * SCALE).softmax(dim=-1)
    return einsum(weights, value, "b h i j, b h j d -> b h i d")


def on_grids(layer, query, key, value):
    """Rows and columns as letters of their own."""
    query, key, value = (rearrange(part, "b h (y x) d -> b h y x d", y=GRID[0]) for part in (query, key, value))
    scores = torch.einsum("bhyxd,bhuvd->bhyxuv", query, key) * SCALE
    weights = scores.flatten(-2).softmax(-1).unflatten(-1, GRID)
    return torch.einsum("bhyxuv,bhuvd->bhyxd", weights, value).flatten(2, 3)


def batched(layer, query, key, value):
    """Images and heads counted through, images first."""
    query, key, value = (part.flatten(0, 1) for part in (query, key, value))
    weights = torch.bmm(query * SCALE, key.mT).softmax(dim=-1)
    return torch.bmm(weights, value).unflatten(0, (-1, NUM_HEADS))


def batched_heads_first(layer, query, key, value):
    """The same with heads first: told apart by looking at one image alone."""
    query, key, value = (part.transpose(0, 1).flatten(0, 1) for part in (query, key, value))
    weights = torch.bmm(query * SCALE, key.mT).softmax(dim=-1)
    return torch.bmm(weights, value).unflatten(0, (NUM_HEADS, -1)).transpose(0, 1)


def transposed(layer, query, key, value):
    """V^T A^T, as in attention between the pixels of convolutional maps."""
    weights = torch.softmax(query @ key.mT * SCALE, dim=-1)
    return (value.mT @ weights.permute(0, 1, 3, 2)).mT


def through_casts(layer, query, key, value):
    weights = nn.Softmax(dim=-1)(query @ key.mT * SCALE).to(torch.float64).type_as(value).contiguous()
    return torch.matmul(weights, value)


def in_place(layer, query, key, value):
    scores = query @ key.mT
    scores *= SCALE
    scores -= scores.amax(dim=-1, keepdim=True)
    weights = scores.softmax(dim=-1)
    return F.dropout(weights, 0.5, training=False, inplace=True) @ value


SPELLINGS = [
    matmul,
    functional,
    of_letters,
    values_first,
    keys_before_queries,
    by_einops,
    batched,
    batched_heads_first,
    transposed,
    through_casts,
    in_place,
]


def expected(layer, tokens):
    query, key, _ = layer.heads(tokens)
    return softmax_by_hand(query @ key.mT * SCALE)


@pytest.mark.parametrize("num_images", [1, 3])
@pytest.mark.parametrize("apply", SPELLINGS, ids=lambda apply: apply.__name__)
@torch.no_grad()
def test_every_spelling(apply, num_images):
    model = seeded(lambda: Patches(WrittenOut(apply), before=1))
    record = record_attention(model, IMAGES[:num_images])
    assert list(record.layers) == ["layer"]
    torch.testing.assert_close(record["layer"].matrix(), expected(model.layer, model.tokens(IMAGES[:num_images])))
    assert record.left_out == {}
    assert torch.equal(record.output, model(IMAGES[:num_images]))


@torch.no_grad()
def test_rows_and_columns_as_letters():
    model = seeded(lambda: Patches(WrittenOut(on_grids)))
    record = record_attention(model, IMAGES)
    torch.testing.assert_close(record["layer"].matrix(), expected(model.layer, model.tokens(IMAGES)))


@torch.no_grad()
def test_as_many_heads_as_images():
    """(head, image, query, key) has the shape of (image, head, query, key) then."""

    def heads_first(layer, query, key, value):
        query, key, value = (part.transpose(0, 1).contiguous() for part in (query, key, value))
        return ((query @ key.mT * SCALE).softmax(dim=-1) @ value).transpose(0, 1)

    model = seeded(lambda: Patches(WrittenOut(heads_first), before=1))
    record = record_attention(model, IMAGES[:NUM_HEADS])
    torch.testing.assert_close(record["layer"].matrix(), expected(model.layer, model.tokens(IMAGES[:NUM_HEADS])))
    usual = seeded(lambda: Patches(WrittenOut(matmul), before=1))
    record = record_attention(usual, IMAGES[:NUM_HEADS])
    torch.testing.assert_close(record["layer"].matrix(), expected(usual.layer, usual.tokens(IMAGES[:NUM_HEADS])))
    with pytest.raises(ValueError, match="2 x 3 x 16 x 16 numbers"):  # it is said where it cannot be told
        record_attention(model, IMAGES)


@torch.no_grad()
def test_what_acts_on_the_weights_after_the_softmax_counts():
    """Heads mixed by a matrix (talking heads), a gate between two maps: what meets the values is the map."""
    mix = torch.tensor([[0.75, 0.25], [0.5, 0.5]])

    def talking(layer, query, key, value):
        weights = (query @ key.mT * SCALE).softmax(dim=-1)
        weights = torch.einsum("nm,bmts->bnts", mix, weights)
        return weights @ value

    def gated(layer, query, key, value):
        weights = (query @ key.mT * SCALE).softmax(dim=-1)
        position = torch.eye(weights.shape[-1]).expand_as(weights)
        return (0.75 * weights + 0.25 * position) @ value

    for apply, act in (
        (talking, lambda weights: torch.einsum("nm,bmts->bnts", mix, weights)),
        (gated, lambda weights: 0.75 * weights + 0.25 * torch.eye(weights.shape[-1])),
    ):
        model = seeded(lambda apply=apply: Patches(WrittenOut(apply)))
        record = record_attention(model, IMAGES)
        torch.testing.assert_close(record["layer"].matrix(), act(expected(model.layer, model.tokens(IMAGES))))


@torch.no_grad()
def test_weights_before_dropout_also_if_dropout_is_always_on():
    def always(layer, query, key, value):
        return F.dropout((query @ key.mT * SCALE).softmax(dim=-1), 0.5, training=True) @ value

    model = seeded(lambda: Patches(WrittenOut(always)))
    record = record_attention(model, IMAGES)
    torch.testing.assert_close(record["layer"].matrix(), expected(model.layer, model.tokens(IMAGES)))


class PixelAttention(nn.Module):
    """Attention between the pixels of a convolutional network, at a half and at a quarter of the size."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, WIDTH, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.down = nn.Conv2d(WIDTH, WIDTH, 3, stride=2, padding=1)
        self.query, self.key = nn.Conv2d(WIDTH, 4, 1), nn.Conv2d(WIDTH, 4, 1)

    def attend(self, maps):
        query, key = (part(maps).flatten(2) for part in (self.query, self.key))
        weights = torch.softmax(torch.bmm(query.mT, key), dim=-1)
        return torch.bmm(maps.flatten(2), weights.mT).view_as(maps) + maps

    def forward(self, images):
        return self.attend(self.down(self.attend(self.stem(images)))).mean(dim=(2, 3))


@torch.no_grad()
def test_maps_of_a_convolutional_network():
    model = seeded(PixelAttention)
    record = record_attention(model, IMAGES)
    assert list(record.layers) == ["PixelAttention", "PixelAttention:1"]
    first, second = record
    assert (first.grid, first.placement.pixel_size, first.num_heads) == ((6, 10), (2.0, 2.0), 1)
    assert (second.grid, second.placement.pixel_size, second.tokens) == ((3, 5), (4.0, 4.0), None)
    maps = model.stem(IMAGES)
    query, key = model.query(maps).flatten(2), model.key(maps).flatten(2)
    torch.testing.assert_close(first.matrix()[:, 0], softmax_by_hand(query.mT @ key))


def powers(layer, query, key, value):
    weights = (query @ key.mT).exp()
    return weights / weights.sum(dim=-1, keepdim=True) @ value


def no_softmax(layer, query, key, value):
    return (query @ key.mT).relu() @ value


@pytest.mark.parametrize("apply", [powers, no_softmax], ids=lambda apply: apply.__name__)
def test_what_is_no_softmax_attention_is_an_error_that_says_why(apply):
    model = seeded(lambda: Patches(WrittenOut(apply)))
    with pytest.raises(ValueError, match="no softmax of its is multiplied with values"):
        record_attention(model, IMAGES)


def test_linear_attention_has_no_map():
    """Softmaxes over channels and over tokens: their product is never written down."""

    def linear(layer, query, key, value):
        return query.softmax(dim=-1) @ (key.softmax(dim=-2).mT @ value)

    model = seeded(lambda: Patches(WrittenOut(linear)))
    with pytest.raises(ValueError, match=r"layer, layer:1: it is linear attention .*: there is no map"):
        record_attention(model, IMAGES)


def test_a_softmax_whose_values_are_not_seen_is_named():
    def by_sums(layer, query, key, value):
        weights = (query @ key.mT * SCALE).softmax(dim=-1)
        return (weights[..., None] * value[:, :, None]).sum(dim=3)

    model = seeded(lambda: Patches(WrittenOut(by_sums)))
    with pytest.raises(ValueError, match="layer: the softmax of its scores is multiplied with values in a way"):
        record_attention(model, IMAGES)
    both = seeded(lambda: Patches(nn.Sequential(WrittenOut(by_sums), WrittenOut(matmul))))
    record = record_attention(both, IMAGES)
    assert list(record.layers) == ["layer.1"]
    assert list(record.left_out) == ["layer.0"]


def test_a_softmax_of_classes_is_no_attention():
    class Dense(nn.Module):
        def forward(self, images):
            return images.flatten(2).mT.softmax(dim=-1)

    with pytest.raises(ValueError, match="calls neither"):
        record_attention(Dense(), IMAGES)
