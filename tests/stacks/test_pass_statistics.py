"""Batch norms in a block that is applied again and again: running statistics for each pass."""

import copy

import pytest
import torch
from torch import nn

from headgrid.attention import MultiheadAttentionConfig, PairwiseAttentionConfig, PatchwiseAttentionConfig
from headgrid.ops import Footprint
from headgrid.stacks import (
    Hierarchical,
    KeptKey,
    OfAllPasses,
    OfEachPass,
    OwnKeys,
    ReportBlockConfig,
    SANBlockConfig,
    SharedWeights,
)

DIM, PASSES = 32, 3
KINDS = pytest.mark.parametrize("attention", [PairwiseAttentionConfig, PatchwiseAttentionConfig])


def _stack(attention, statistics=None, key=None):
    """In float64; every parameter away from where it starts, every statistic a random one of its own."""
    torch.manual_seed(0)
    weights = SharedWeights() if statistics is None else SharedWeights(statistics)
    config = attention(footprint=Footprint(3))
    stack = Hierarchical(weights, key or KeptKey()).build(
        lambda _, own_key: SANBlockConfig(relation_reduction=8, value_reduction=2).build(config, DIM, own_key),
        PASSES,
    )
    with torch.no_grad():
        for parameter in stack.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
        for buffer in stack.buffers():
            if buffer.is_floating_point():
                buffer.add_(0.5 * torch.rand_like(buffer))
    return stack.double()


def _pixels(num_images=2):
    return torch.randn(num_images, 5, 7, DIM, dtype=torch.float64, requires_grad=True)


def _copies(stack) -> list[nn.Module]:
    """A block for each pass, with the parameters of the one block and buffers of its own."""
    block = stack.shared[0]
    copies = [copy.deepcopy(block) for _ in range(PASSES)]
    for number, other in enumerate(copies):
        for name, parameter in block.named_parameters():
            path, _, last = name.rpartition(".")
            setattr(other.get_submodule(path), last, parameter)
        if number:
            for name, _ in block.named_buffers():
                path, _, last = name.rpartition(".")
                statistic = stack.statistics[0][number - 1].get_buffer(name.replace(".", "__"))
                setattr(other.get_submodule(path), last, statistic.clone())
    return copies


@KINDS
@pytest.mark.parametrize("key", [KeptKey(), OwnKeys()], ids=["kept key", "own keys"])
@pytest.mark.parametrize("training", [True, False], ids=["training", "eval"])
def test_equals_a_block_for_each_pass_with_tied_parameters(attention, key, training):
    stack = _stack(attention, key=key).train(training)
    copies = _copies(stack)
    inputs = [_pixels(), *stack.parameters()]

    def by_hand(pixels):
        kept = None
        for block in copies:
            pixels, attended = block(pixels, kept)
            kept = key.for_next(kept, attended.key)
        return pixels

    ours, expected = stack(inputs[0])[0], by_hand(inputs[0])
    torch.testing.assert_close(ours, expected, rtol=1e-12, atol=1e-12)
    of_ours, of_expected = (
        torch.autograd.grad(output.cos().sum(), inputs, allow_unused=True) for output in (ours, expected)
    )
    for one, other in zip(of_ours, of_expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)
    for number, other in enumerate(copies):
        of_pass = stack.shared[0] if number == 0 else stack.statistics[0][number - 1]
        for (name, buffer), expected in zip(of_pass.named_buffers(), other.buffers(), strict=True):
            torch.testing.assert_close(buffer, expected, msg=f"pass {number}: {name}")


@KINDS
def test_eval_mode_computes_what_was_trained(attention):
    """With the statistics of the very batch, eval mode differs from training by n / (n - 1) in the variances."""
    differences = {}
    for statistics in (OfEachPass(), OfAllPasses()):
        stack = _stack(attention, statistics)
        for module in stack.modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm):
                module.momentum = 1.0
        pixels = _pixels(num_images=40)
        with torch.no_grad():
            trained, evaluated = stack.train()(pixels)[0], stack.eval()(pixels)[0]
        differences[statistics] = ((trained - evaluated).norm() / trained.norm()).item()
    assert differences[OfEachPass()] < 0.01
    assert differences[OfAllPasses()] > 0.1


def test_more_passes_than_were_trained_have_the_statistics_of_the_last():
    stack = _stack(PairwiseAttentionConfig).eval()
    pixels = _pixels()
    three, _ = stack(pixels)
    stack.num_passes = 4
    key = stack.shared[0](pixels)[1].key
    expected, _ = stack.statistics[0][1](stack.shared[0], three, key)
    torch.testing.assert_close(stack(pixels)[0], expected)
    stack.num_passes = 1
    torch.testing.assert_close(stack(pixels)[0], stack.shared[0](pixels)[0])


def test_the_state_holds_every_statistic_once():
    stack = _stack(PairwiseAttentionConfig)
    state = stack.state_dict()
    assert len({tensor.data_ptr() for tensor in state.values()}) == len(state)
    other = _stack(PairwiseAttentionConfig)
    with torch.no_grad():
        for tensor in other.state_dict().values():
            tensor.zero_()
    other.load_state_dict(state)
    pixels = _pixels()
    torch.testing.assert_close(other.eval()(pixels)[0], stack.eval()(pixels)[0])


def test_blocks_without_batch_norms_have_none():
    stack = Hierarchical().build(
        lambda _, own_key: ReportBlockConfig(hidden_dim=7).build(
            MultiheadAttentionConfig(num_heads=2), 8, (3, 4), own_key
        ),
        PASSES,
    )
    assert not any(name.startswith("statistics") for name in stack.state_dict())
