"""The two blocks and the plain stack, each against its formula, step by step."""

import pytest
import torch
import torch.nn.functional as F

from headgrid.attention import DropoutPerBatch, MultiheadAttentionConfig
from headgrid.stacks import PaperBlockConfig, PlainStack, ReportBlockConfig

ATTENTION = MultiheadAttentionConfig(num_heads=3, dropout=DropoutPerBatch(0.0))


def _block(config):
    torch.manual_seed(0)
    block = config.build(ATTENTION, 6, (4, 5)).double()
    with torch.no_grad():
        for parameter in block.parameters():
            parameter.normal_()
    return block, torch.randn(2, 4, 5, 6, dtype=torch.float64)


def _norm(pixels, norm, epsilon):
    centered = pixels - pixels.mean(-1, keepdim=True)
    deviation = (centered.square().mean(-1, keepdim=True) + epsilon).sqrt()
    return centered / deviation * norm.weight + norm.bias


def test_the_papers_block():
    block, pixels = _block(PaperBlockConfig(hidden_dim=7))
    block.eval()
    attended = block.attention(pixels).values @ block.projection.weight.T + block.projection.bias
    middle = _norm(attended + pixels, block.attention_norm, 1e-12)
    hidden = middle @ block.feed_forward.widen.weight.T + block.feed_forward.widen.bias
    hidden = hidden * (1 + torch.erf(hidden / 2**0.5)) / 2
    result = hidden @ block.feed_forward.narrow.weight.T + block.feed_forward.narrow.bias
    output, attention = block(pixels)
    torch.testing.assert_close(output, _norm(result + middle, block.feed_forward_norm, 1e-12))
    torch.testing.assert_close(attention.values, block.attention(pixels).values)


def test_the_reports_block():
    block, pixels = _block(ReportBlockConfig(hidden_dim=7))
    middle = _norm(block.attention(pixels).values + pixels, block.attention_norm, 1e-5)
    hidden = F.relu(middle @ block.feed_forward.widen.weight.T + block.feed_forward.widen.bias)
    result = hidden @ block.feed_forward.narrow.weight.T + block.feed_forward.narrow.bias
    torch.testing.assert_close(block(pixels)[0], _norm(result + middle, block.feed_forward_norm, 1e-5))


@pytest.mark.parametrize("config", [PaperBlockConfig(), ReportBlockConfig()])
def test_the_epsilon_of_the_norms_is_that_of_the_code(config):
    """With almost constant channels it decides: 1e-12 still normalises them, 1e-5 lets them vanish."""
    block, _ = _block(config)
    expected = {PaperBlockConfig: 1e-12, ReportBlockConfig: 1e-5}[type(config)]
    assert (block.attention_norm.eps, block.feed_forward_norm.eps) == (expected, expected)


@pytest.mark.parametrize(("config", "draws"), [(PaperBlockConfig(), True), (ReportBlockConfig(), False)])
def test_dropout_around_the_attention_is_the_papers_alone(config, draws):
    block, pixels = _block(config)
    block.train()
    assert torch.equal(block(pixels)[0], block(pixels)[0]) is not draws
    block.eval()
    assert torch.equal(block(pixels)[0], block(pixels)[0])


def test_a_plain_stack_applies_its_blocks_in_order():
    blocks = [_block(PaperBlockConfig(hidden_dim=7))[0], _block(ReportBlockConfig(hidden_dim=7))[0]]
    pixels = torch.randn(2, 4, 5, 6, dtype=torch.float64)
    stack = PlainStack(blocks).eval()
    first, first_attention = blocks[0](pixels, record=True)
    second, second_attention = blocks[1](first, record=True)
    output, attention = stack(pixels, record=True)
    torch.testing.assert_close(output, second)
    for ours, expected in zip(attention, (first_attention, second_attention), strict=True):
        torch.testing.assert_close(ours.weights, expected.weights)
    assert [output.weights for output in stack(pixels)[1]] == [None, None]
