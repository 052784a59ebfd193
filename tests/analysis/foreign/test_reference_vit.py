"""A real trained model that is not ours: its attention is that of a forward pass written out by hand."""

import pytest
import torch
from foreign_networks import softmax_by_hand
from reference_vit import NUM_HEADS, WIDTH, first_test_images, reference_vit
from torch import nn

from headgrid.analysis import measure_attention, record_attention, rollout


def layer_norm(tokens: torch.Tensor, norm: nn.LayerNorm) -> torch.Tensor:
    centered = tokens - tokens.mean(dim=-1, keepdim=True)
    return centered / (centered.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt() * norm.weight + norm.bias


def attention_by_hand(inputs: torch.Tensor, attn: nn.MultiheadAttention) -> tuple[torch.Tensor, torch.Tensor]:
    """Output and weights, head by head."""
    outputs, maps = [], []
    width = WIDTH // NUM_HEADS
    for head in range(NUM_HEADS):
        query, key, value = (
            inputs @ attn.in_proj_weight[rows].T + attn.in_proj_bias[rows]
            for rows in (slice(part + head * width, part + (head + 1) * width) for part in (0, WIDTH, 2 * WIDTH))
        )
        maps.append(softmax_by_hand(query @ key.transpose(1, 2) / width**0.5))
        outputs.append(maps[-1] @ value)
    out = torch.cat(outputs, dim=-1) @ attn.out_proj.weight.T + attn.out_proj.bias
    return out, torch.stack(maps, dim=1)


@torch.no_grad()
def test_attention_equals_a_forward_pass_by_hand(reference_dir, cifar_dir):
    model = reference_vit(reference_dir)
    images, _ = first_test_images(cifar_dir, 8)
    record = record_attention(model, images)
    assert list(record.layers) == [f"blocks.{index}.attn" for index in range(4)]
    assert record.left_out == {}
    tokens = model.tokens(images)
    for block, layer in zip(model.blocks, record, strict=True):
        assert (layer.grid, layer.placement.pixel_size, layer.tokens.num_tokens) == ((8, 8), (4.0, 4.0), 1)
        attended, maps = attention_by_hand(layer_norm(tokens, block.norm1), block.attn)
        torch.testing.assert_close(layer.matrix(), maps, atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(layer.weights[:, :, 3, 5, 2, 7], maps[:, :, 1 + 3 * 8 + 5, 1 + 2 * 8 + 7])
        tokens = tokens + attended
        tokens = tokens + block.mlp(layer_norm(tokens, block.norm2))
    logits = model.head(layer_norm(tokens, model.norm)[:, 0])
    torch.testing.assert_close(record.output, logits, atol=1e-4, rtol=1e-4)
    assert torch.equal(record.output, model(images))


@torch.no_grad()
def test_accuracy_on_some_images(reference_dir, cifar_dir):
    """74.55 % of all 10,000 test images; 151 of the first 200, within three standard errors of that."""
    model = reference_vit(reference_dir)
    images, labels = first_test_images(cifar_dir, 200)
    answers = torch.cat([record_attention(model, batch).output.argmax(dim=-1) for batch in images.split(100)])
    correct = int((answers == labels).sum())
    assert abs(correct - 151) <= 1
    assert abs(correct / 200 - 0.7455) < 3 * (0.7455 * 0.2545 / 200) ** 0.5


@pytest.mark.slow
@torch.no_grad()
def test_accuracy_on_all_images(reference_dir, cifar_dir):
    model = reference_vit(reference_dir)
    images, labels = first_test_images(cifar_dir, 10_000)
    answers = torch.cat([model(batch).argmax(dim=-1) for batch in images.split(200)])
    assert abs(int((answers == labels).sum()) - 7455) <= 3


def test_measures_and_rollout_of_a_foreign_model(reference_dir, cifar_dir):
    model = reference_vit(reference_dir)
    images, _ = first_test_images(cifar_dir, 20)
    measures = measure_attention(model, images.split(8))
    assert (measures.num_images, measures.image_size, len(measures.heads)) == (20, (32, 32), 16)
    for head in measures.heads:
        assert 0 < head.token_share < 1
        assert 0 < head.content_variance < 1
        assert head.exact_center is None
        assert 0 <= head.mean_distance_in_image == pytest.approx(4 * head.mean_distance)
    assert all(layer.sentence.endswith(".") for layer in measures.layers)
    seen = rollout(record_attention(model, images[:2])).of_token()
    assert seen.shape == (2, 8, 8)
    assert (seen > 0).all()
