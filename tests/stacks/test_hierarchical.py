"""Hierarchical attention against loops written out by hand: shared or own weights, a kept key or own keys."""

import copy
import math
from collections import Counter

import pytest
import torch
import torch.nn.functional as F
from einops import rearrange

from headgrid.attention import (
    DropoutPerImage,
    GatedPositionalAttentionConfig,
    MultiheadAttentionConfig,
    PairwiseAttentionConfig,
    PatchwiseAttentionConfig,
)
from headgrid.encodings import LearnedAbsoluteConfig
from headgrid.ops import Footprint
from headgrid.scores import (
    AbsoluteContentConfig,
    ContentConfig,
    LearnedPositionConfig,
    QuadraticConfig,
    QueryPositionConfig,
    TransformerXLConfig,
)
from headgrid.stacks import (
    Hierarchical,
    HierarchicalStack,
    KeptKey,
    OfAllPasses,
    OwnKeys,
    OwnWeights,
    PaperBlockConfig,
    Plain,
    PlainStack,
    ReportBlockConfig,
    SANBlockConfig,
    SharedWeights,
)

DIM, GRID, PASSES = 32, (3, 5), 3


def _multihead(*scores, block=None):
    attention = MultiheadAttentionConfig(num_heads=2, scores=scores, dropout=DropoutPerImage(0.0))
    block = ReportBlockConfig(hidden_dim=7) if block is None else block
    return lambda _, own_key: block.build(attention, DIM, GRID, own_key)


def _san(attention):
    return lambda _, own_key: SANBlockConfig().build(attention(footprint=Footprint(3)), DIM, own_key)


FAMILIES = {
    "quadratic": _multihead(QuadraticConfig()),
    "learned": _multihead(LearnedPositionConfig()),
    "query-position": _multihead(QueryPositionConfig()),
    "content, paper's block": _multihead(ContentConfig(), block=PaperBlockConfig(hidden_dim=7, dropout=0.0)),
    "query-position + content": _multihead(QueryPositionConfig(), ContentConfig()),
    "equation 8": _multihead(TransformerXLConfig()),
    "absolute": _multihead(AbsoluteContentConfig(LearnedAbsoluteConfig())),
    "gated": lambda _, own_key: ReportBlockConfig(hidden_dim=7).build(
        GatedPositionalAttentionConfig(num_heads=4), DIM, GRID, own_key
    ),
    "san pairwise": _san(PairwiseAttentionConfig),
    "san patchwise": _san(PatchwiseAttentionConfig),
}
WITHOUT_KEY = ("quadratic", "learned", "query-position")
WEIGHTS, KEYS = (SharedWeights(OfAllPasses()), OwnWeights()), (KeptKey(), OwnKeys())
EVERY_FAMILY = pytest.mark.parametrize("family", FAMILIES)


def _pixels():
    return torch.randn(2, *GRID, DIM, dtype=torch.float64, requires_grad=True)


def _build(family, stack, num_passes=PASSES):
    """In float64, every parameter away from where it starts."""
    torch.manual_seed(0)
    built = stack.build(FAMILIES[family], num_passes).double()
    with torch.no_grad():
        for parameter in built.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return built


def _results(run, stack, pixels):
    output = run(pixels)
    return [output, *torch.autograd.grad(output.cos().sum(), [pixels, *stack.parameters()])]


@EVERY_FAMILY
@pytest.mark.parametrize("weights", WEIGHTS, ids=["shared", "own"])
@pytest.mark.parametrize("key", KEYS, ids=["kept key", "own keys"])
@pytest.mark.parametrize("training", [True, False], ids=["training", "eval"])
def test_equals_a_loop_written_out_by_hand(family, weights, key, training):
    stack = _build(family, Hierarchical(weights, key)).train(training)
    twin = copy.deepcopy(stack)

    def by_hand(pixels):
        blocks = [twin.shared[0]] * 3 if isinstance(weights, SharedWeights) else list(twin.blocks)
        first, attended = blocks[0](pixels)
        kept = attended.key if isinstance(key, KeptKey) else None
        second, _ = blocks[1](first, key=kept)
        return blocks[2](second, key=kept)[0]

    pixels = _pixels()
    ours, expected = _results(lambda pixels: stack(pixels)[0], stack, pixels), _results(by_hand, twin, pixels)
    for result, other in zip(ours, expected, strict=True):
        torch.testing.assert_close(result, other, rtol=1e-12, atol=1e-12)
    for (name, buffer), other in zip(stack.named_buffers(), twin.buffers(), strict=True):
        torch.testing.assert_close(buffer, other, msg=name)


def test_equals_the_formulas():
    """The report's hierarchical attention with content and query-position, without any module of ours."""
    stack = _build("query-position + content", Hierarchical())
    block = stack.shared[0]
    layer, (rows, columns) = block.attention, GRID

    def project(linear, pixels):
        return rearrange(pixels @ linear.weight.T + linear.bias, "b h w (n d) -> b n h w d", n=2)

    def norm(pixels, parameters):
        centered = pixels - pixels.mean(-1, keepdim=True)
        normalized = centered / (centered.square().mean(-1, keepdim=True) + 1e-5).sqrt()
        return normalized * parameters.weight + parameters.bias

    def by_hand(pixels):
        encoding = layer.score.terms[0].encoding
        row_table, column_table = encoding.rows(rows, pixels), encoding.columns(columns, pixels)
        key = project(layer.key, pixels)
        for _ in range(PASSES):
            query = project(layer.query, pixels) / math.sqrt(DIM)
            of_rows, of_columns = query.chunk(2, dim=-1)
            scores = torch.einsum("bnhwd,bnyxd->bnhwyx", query, key)
            scores = scores + torch.einsum("bnhwd,hyd->bnhwy", of_rows, row_table)[..., None]
            scores = scores + torch.einsum("bnhwd,wxd->bnhwx", of_columns, column_table)[..., None, :]
            maps = scores.flatten(-2).softmax(-1).unflatten(-1, GRID)
            heads = torch.einsum("bnhwyx,byxc->bhwnc", maps, pixels).flatten(-2)
            attended = heads @ layer.mixing.weight.T + layer.mixing.bias
            pixels = norm(pixels + attended, block.attention_norm)
            widen, narrow = block.feed_forward.widen, block.feed_forward.narrow
            hidden = F.relu(pixels @ widen.weight.T + widen.bias)
            pixels = norm(pixels + hidden @ narrow.weight.T + narrow.bias, block.feed_forward_norm)
        return pixels

    pixels = _pixels()
    ours = _results(lambda pixels: stack(pixels)[0], stack, pixels)
    for result, expected in zip(ours, _results(by_hand, stack, pixels), strict=True):
        torch.testing.assert_close(result, expected, rtol=1e-10, atol=1e-12)


@EVERY_FAMILY
@pytest.mark.parametrize("weights", WEIGHTS, ids=["shared", "own"])
@pytest.mark.parametrize("key", KEYS, ids=["kept key", "own keys"])
def test_one_pass_is_the_plain_stack(family, weights, key):
    plain, stack = _build(family, Plain(), 1), _build(family, Hierarchical(weights, key), 1)
    pixels = _pixels()
    for ours, expected in zip(
        _results(lambda pixels: stack(pixels)[0], stack, pixels),
        _results(lambda pixels: plain(pixels)[0], plain, pixels),
        strict=True,
    ):
        assert torch.equal(ours, expected)


@EVERY_FAMILY
def test_own_weights_and_own_keys_are_the_plain_stack(family):
    plain, stack = _build(family, Plain()), _build(family, Hierarchical(OwnWeights(), OwnKeys()))
    assert isinstance(stack, PlainStack)
    assert list(stack.state_dict()) == list(plain.state_dict())
    pixels = _pixels()
    assert torch.equal(stack(pixels)[0], plain(pixels)[0])


@EVERY_FAMILY
@pytest.mark.parametrize("weights", WEIGHTS, ids=["shared", "own"])
def test_a_kept_key_is_one_tensor_that_gradients_reach_from_every_pass(family, weights):
    stack = _build(family, Hierarchical(weights, KeptKey()))
    _, outputs = stack(_pixels())
    assert len(outputs) == PASSES
    assert all(output.key is outputs[0].key for output in outputs)
    if family in WITHOUT_KEY:
        assert outputs[0].key is None
        return
    (gradient,) = torch.autograd.grad(outputs[-1].values.cos().sum(), outputs[0].key, retain_graph=True)
    assert gradient.abs().max() > 0
    own = _build(family, Hierarchical(weights, OwnKeys()))(_pixels())[1]
    assert len({id(output.key) for output in own}) == PASSES


@pytest.mark.parametrize("family", ["query-position + content", "equation 8", "absolute", "gated"])
@pytest.mark.parametrize("weights", WEIGHTS, ids=["shared", "own"])
def test_a_kept_key_is_projected_once(family, weights):
    for key, expected in ((KeptKey(), 1), (OwnKeys(), PASSES)):
        stack = _build(family, Hierarchical(weights, key))
        calls = Counter()
        for name, module in stack.named_modules():
            part = name.rpartition(".")[2]
            if part in ("key", "query"):
                module.register_forward_hook(lambda *_, part=part, calls=calls: calls.update([part]))
        stack(_pixels())
        assert calls == {"key": expected, "query": PASSES}


@pytest.mark.parametrize("family", [family for family in FAMILIES if family not in WITHOUT_KEY])
def test_later_blocks_that_work_on_a_kept_key_have_no_key_projection(family):
    stack = _build(family, Hierarchical(OwnWeights(), KeptKey()))
    assert isinstance(stack, PlainStack)
    names = [name for name, _ in stack.named_parameters() if {"key", "psi"} & set(name.split("."))]
    assert names
    assert all(name.startswith("blocks.0.") for name in names)
    with pytest.raises(ValueError, match="built without a key of its own: hand it the key to work on"):
        stack.blocks[1](_pixels())


@pytest.mark.parametrize("family", WITHOUT_KEY)
@pytest.mark.parametrize("weights", WEIGHTS, ids=["shared", "own"])
def test_a_score_without_a_key_has_nothing_to_keep(family, weights):
    kept, own = (_build(family, Hierarchical(weights, key)) for key in KEYS)
    pixels = _pixels()
    assert torch.equal(kept(pixels)[0], own(pixels)[0])


def test_shared_parameters_exist_once_and_passes_have_names():
    stack = _build("query-position + content", Hierarchical())
    assert isinstance(stack, HierarchicalStack)
    block = stack.shared[0]
    assert sum(p.numel() for p in stack.parameters()) == sum(p.numel() for p in block.parameters())
    assert {name.split(".")[0] for name in stack.state_dict()} == {"shared"}
    assert [stack.get_submodule(f"blocks.{number}.attention") for number in range(PASSES)] == [block.attention] * 3
    with pytest.raises(AttributeError):
        stack.get_submodule("blocks.3.attention")


@EVERY_FAMILY
def test_the_number_of_passes_is_free(family):
    stack = _build(family, Hierarchical()).eval()
    pixels = _pixels()
    assert stack.num_passes == PASSES
    stack.num_passes = 5
    output, attention = stack(pixels, record=True)
    assert len(attention) == 5
    loaded = Hierarchical().build(FAMILIES[family], PASSES).double().eval()
    loaded.load_state_dict(stack.state_dict())
    loaded.num_passes = 5
    assert torch.equal(loaded(pixels, record=True)[0], output)


@pytest.mark.parametrize("family", [name for name in FAMILIES if "san" not in name])
def test_a_stack_without_batch_norms_may_be_built_for_another_number_of_passes(family):
    stack = _build(family, Hierarchical()).eval()
    stack.num_passes = 5
    longer = Hierarchical().build(FAMILIES[family], 5).double().eval()
    longer.load_state_dict(stack.state_dict())
    pixels = _pixels()
    assert torch.equal(longer(pixels)[0], stack(pixels)[0])


def test_the_number_of_passes_is_fixed_where_weights_are_not_shared():
    for stack in (Plain(), Hierarchical(OwnWeights())):
        built = _build("quadratic", stack)
        assert built.num_passes == PASSES
        with pytest.raises(
            ValueError, match="3 blocks of this stack have their own weights, so their number cannot"
        ):
            built.num_passes = 4
    with pytest.raises(ValueError, match="must be passed at least once, got num_passes = 0"):
        _build("quadratic", Hierarchical()).num_passes = 0


def test_a_pass_of_several_blocks():
    """The key of the very first block serves all; only the first of each pass is the block that made it."""
    made = []

    def make_block(number, own_key):
        made.append((number, own_key))
        return FAMILIES["query-position + content"](number, own_key)

    for weights, blocks in ((SharedWeights(), 2), (OwnWeights(), 6)):
        for key in KEYS:
            made.clear()
            stack = Hierarchical(weights, key).build(make_block, PASSES, blocks_per_pass=2).double()
            assert made == [(number, isinstance(key, OwnKeys) or number == 0) for number in range(blocks)]
            outputs = stack(_pixels())[1]
            assert len(outputs) == len(stack.blocks) == 2 * PASSES
            assert len({id(output.key) for output in outputs}) == (1 if isinstance(key, KeptKey) else 6)
