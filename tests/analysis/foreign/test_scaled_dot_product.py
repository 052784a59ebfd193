"""The weights behind `F.scaled_dot_product_attention`, with all its options."""

import pytest
import torch
import torch.nn.functional as F
from foreign_networks import GRID, IMAGES, WIDTH, Patches, per_head, seeded, softmax_by_hand
from torch import nn

from headgrid.analysis import record_attention
from headgrid.analysis.foreign.scaled_dot_product import scaled_dot_product_weights

LENGTHS = (5, 7)
"""Queries and keys."""


def qkv(num_heads=4, num_key_heads=4, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    return tuple(
        torch.randn(2, heads, length, 6, generator=generator, dtype=dtype)
        for heads, length in ((num_heads, LENGTHS[0]), (num_key_heads, LENGTHS[1]), (num_key_heads, LENGTHS[1]))
    )


def allowed(*batch):
    """True where a query may look; the second query may look nowhere."""
    mask = torch.rand(*batch, *LENGTHS, generator=torch.Generator().manual_seed(1)) > 0.3
    mask[..., 1, :] = False
    return mask


CALLS = {
    "plain": {},
    "scale": {"scale": 0.7},
    "causal": {"is_causal": True},
    "boolean mask": {"attn_mask": allowed()},
    "a boolean mask for each image and head": {"attn_mask": allowed(2, 4)},
    "added mask": {"attn_mask": torch.randn(4, *LENGTHS, dtype=torch.float64)},
    "infinite mask": {"attn_mask": torch.zeros(LENGTHS, dtype=torch.float64).masked_fill(~allowed(), -torch.inf)},
    "dropout": {"dropout_p": 0.5},
}


def by_hand(query, key, attn_mask=None, is_causal=False, scale=None, **_others):
    weights = torch.zeros(*query.shape[:-1], key.shape[-2], dtype=query.dtype)
    for image in range(2):
        for head in range(query.shape[1]):
            key_head = head * key.shape[1] // query.shape[1]
            for t in range(LENGTHS[0]):
                scores = torch.zeros(LENGTHS[1], dtype=query.dtype)
                for s in range(LENGTHS[1]):
                    score = float(query[image, head, t] @ key[image, key_head, s])
                    score = score * (6**-0.5 if scale is None else scale)
                    if attn_mask is not None:
                        mask = attn_mask.expand(2, query.shape[1], *LENGTHS)[image, head, t, s]
                        score = score + float(mask) if mask.is_floating_point() else score if mask else -torch.inf
                    scores[s] = -torch.inf if is_causal and s > t else score
                weights[image, head, t] = softmax_by_hand(scores)
    return weights


@pytest.mark.parametrize("name", CALLS)
def test_weights_by_hand(name):
    query, key, value = qkv()
    call = CALLS[name]
    weights = scaled_dot_product_weights(query, key, value, **call)
    torch.testing.assert_close(weights, by_hand(query, key, **call))
    if "dropout_p" not in call:
        torch.testing.assert_close(weights @ value, F.scaled_dot_product_attention(query, key, value, **call))


def test_groups_of_query_heads_share_a_key_head():
    query, key, value = qkv(num_heads=4, num_key_heads=2)
    weights = scaled_dot_product_weights(query, key, value, enable_gqa=True)
    torch.testing.assert_close(weights, by_hand(query, key))
    output = F.scaled_dot_product_attention(query, key, value, enable_gqa=True)
    torch.testing.assert_close(weights @ value.repeat_interleave(2, dim=1), output)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_weighed_in_full(dtype):
    query, key, value = qkv(dtype=dtype)
    weights = scaled_dot_product_weights(query, key, value)
    assert weights.dtype == torch.float32
    torch.testing.assert_close(weights.double(), by_hand(query.double(), key.double()), atol=1e-5, rtol=1e-5)


class FusedAttention(nn.Module):
    def __init__(self, num_heads, **call):
        super().__init__()
        self.num_heads, self.call = num_heads, call
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))

    def forward(self, tokens):
        query, key, value = (per_head(tokens, part, self.num_heads) for part in (self.query, self.key, self.value))
        attended = F.scaled_dot_product_attention(query, key, value, **self.call)
        return attended.transpose(1, 2).flatten(2)


@pytest.mark.parametrize("call", [{}, {"is_causal": True}, {"scale": 2.0}])
@torch.no_grad()
def test_recorded_from_a_model(call):
    model = seeded(lambda: Patches(FusedAttention(4, **call), before=1))
    before = [parameter.clone() for parameter in model.parameters()]
    record = record_attention(model, IMAGES)
    tokens, layer = model.tokens(IMAGES), model.layer
    scores = per_head(tokens, layer.query, 4) @ per_head(tokens, layer.key, 4).mT * call.get("scale", 2**-0.5)
    if call.get("is_causal"):
        scores = scores.masked_fill(torch.ones(16, 16, dtype=torch.bool).triu(1), -torch.inf)
    torch.testing.assert_close(record["layer"].matrix(), softmax_by_hand(scores))
    assert record["layer"].grid == GRID
    assert torch.equal(record.output, model(IMAGES))
    assert all(torch.equal(*pair) for pair in zip(before, model.parameters(), strict=True))
