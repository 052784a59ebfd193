"""`nn.MultiheadAttention` and what is built on it, against its equations."""

import pytest
import torch
from foreign_networks import GRID, IMAGES, WIDTH, Patches, per_head, seeded, softmax_by_hand
from torch import nn

from headgrid.analysis import record_attention

NUM_HEADS = 2
NUM_PATCHES = GRID[0] * GRID[1]


class SelfAttention(nn.Module):
    """The layer as people call it: both orders of axes, with and without weights, with masks."""

    def __init__(self, batch_first=True, call=None, **options):
        super().__init__()
        self.batch_first, self.call = batch_first, call or {}
        self.attention = nn.MultiheadAttention(WIDTH, NUM_HEADS, batch_first=batch_first, **options)

    def forward(self, tokens):
        tokens = tokens if self.batch_first else tokens.transpose(0, 1)
        attended, _ = self.attention(tokens, tokens, tokens, **self.call)
        return attended if self.batch_first else attended.transpose(0, 1)


def expected_weights(attention: nn.MultiheadAttention, tokens, mask=None):
    """softmax(Q K^T / sqrt(d) + mask), with the packed projections of the layer."""
    weights, biases = attention.in_proj_weight, attention.in_proj_bias
    query, key = (
        per_head(tokens, weights[part], NUM_HEADS)
        + (0 if biases is None else biases[part].unflatten(0, (NUM_HEADS, -1))[:, None])
        for part in (slice(0, WIDTH), slice(WIDTH, 2 * WIDTH))
    )
    scores = query @ key.mT / (WIDTH / NUM_HEADS) ** 0.5
    if mask is not None and mask.dtype == torch.bool:
        scores = scores.masked_fill(mask, -torch.inf)
    elif mask is not None:
        scores = scores + mask
    return softmax_by_hand(scores)


def band(num_tokens):
    """True where a token may not look: more than four tokens ahead."""
    return torch.ones(num_tokens, num_tokens, dtype=torch.bool).triu(5)


def padded(num_tokens):
    mask = torch.zeros(3, num_tokens, dtype=torch.bool)
    mask[1, -4:] = True
    return mask


MASKS = {
    "no mask": ({}, None),
    "boolean mask": ({"attn_mask": band(1 + NUM_PATCHES)}, band(1 + NUM_PATCHES)),
    "added mask": (
        {"attn_mask": -0.5 * band(1 + NUM_PATCHES).float()},
        -0.5 * band(1 + NUM_PATCHES).float(),
    ),
    "padded keys": ({"key_padding_mask": padded(1 + NUM_PATCHES)}, padded(1 + NUM_PATCHES)[:, None, None]),
}


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("mask", MASKS)
@torch.no_grad()
def test_weights_of_the_equations(batch_first, need_weights, mask):
    call, added = MASKS[mask]
    model = seeded(lambda: Patches(SelfAttention(batch_first, {"need_weights": need_weights} | call), before=1))
    record = record_attention(model, IMAGES)
    assert list(record.layers) == ["layer.attention"]
    layer = record["layer.attention"]
    assert layer.weights.shape == (3, NUM_HEADS, *GRID, *GRID)
    assert layer.tokens.num_tokens == 1
    assert layer.placement.pixel_size == (4.0, 4.0)
    torch.testing.assert_close(layer.matrix(), expected_weights(model.layer.attention, model.tokens(IMAGES), added))
    assert torch.equal(record.output, model(IMAGES))


@pytest.mark.parametrize("options", [{"bias": False}, {"kdim": WIDTH, "vdim": WIDTH}, {"dropout": 0.5}])
@torch.no_grad()
def test_other_options(options):
    model = seeded(lambda: Patches(SelfAttention(**options)))
    record = record_attention(model, IMAGES)
    torch.testing.assert_close(
        record["layer.attention"].matrix(), expected_weights(model.layer.attention, model.tokens(IMAGES))
    )


@pytest.mark.parametrize("norm_first", [True, False])
@torch.no_grad()
def test_encoder_on_its_fast_path(norm_first, monkeypatch):
    """Unwatched, the whole layer is one kernel; watched it is not, and the output is still that of the kernel."""

    def make():
        layer = nn.TransformerEncoderLayer(WIDTH, NUM_HEADS, 16, batch_first=True, norm_first=norm_first)
        return Patches(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), before=2)

    model = seeded(make)
    record = record_attention(model, IMAGES)
    assert list(record.layers) == ["layer.layers.0.self_attn", "layer.layers.1.self_attn"]
    fast = model(IMAGES)
    assert torch.equal(record.output, fast)
    monkeypatch.setattr(torch.backends.mha, "_is_fastpath_enabled", False)
    assert not torch.equal(model(IMAGES), fast), "the two paths have become the same: then this shows nothing"

    tokens = model.tokens(IMAGES)
    for index, block in enumerate(model.layer.layers):
        inputs = block.norm1(tokens) if norm_first else tokens
        torch.testing.assert_close(
            record[f"layer.layers.{index}.self_attn"].matrix(), expected_weights(block.self_attn, inputs)
        )
        tokens = block(tokens)


def test_looking_at_other_tokens_than_its_own():
    """As decoders and poolings by attention do: no map of the image, and said so."""
    model = seeded(lambda: Patches(CrossAttention()))
    with pytest.raises(ValueError, match=r"layer\.attention: 2 queries look at 15 keys: pooling by attention"):
        record_attention(model, IMAGES)


class CrossAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.queries = nn.Parameter(torch.randn(1, 2, WIDTH))
        self.attention = nn.MultiheadAttention(WIDTH, NUM_HEADS, batch_first=True)

    def forward(self, tokens):
        return self.attention(self.queries.expand(len(tokens), -1, -1), tokens, tokens)[0]


@torch.no_grad()
def test_added_keys_are_no_place_of_the_image():
    model = seeded(lambda: Patches(SelfAttention(add_zero_attn=True)))
    with pytest.raises(ValueError, match="15 queries look at 16 keys"):
        record_attention(model, IMAGES)
