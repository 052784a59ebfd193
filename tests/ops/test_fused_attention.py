"""The fused kernel with one-hot codes of position against the map that it never stores."""

from collections import Counter

import pytest
import torch
from attention_inputs import Sizes, assert_same_values_and_gradients, explicit, random, random_values, sizes
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from headgrid.ops import apply_attention, attention_weights, fused_attention, map_is_faster

FLASH = "_scaled_dot_product_flash_attention_for_cpu"


@st.composite
def parts_of_a_score(draw):
    """Sizes and any sum of parts that a score can have: content, rows, columns, dense."""
    of = draw(sizes)
    has_content, varies = draw(st.booleans()), draw(st.booleans())
    torch.manual_seed(of.seed)
    batch, height, width = (of.batch, of.height, of.width) if varies else (1, 1, 1)
    rows = random(batch, of.num_heads, of.height, width, of.num_rows)
    columns = random(batch, of.num_heads, height, of.width, of.num_columns)
    dense = random(of.num_heads, of.height, of.width, of.num_rows, of.num_columns)
    parts = {"dense": dense if draw(st.booleans()) else None}
    if has_content:
        parts["query"] = random(of.batch, of.num_heads, of.height, of.width, of.head_dim)
        parts["key"] = random(of.batch, of.num_heads, of.num_rows, of.num_columns, of.head_dim)
    if not has_content or draw(st.booleans()):
        parts |= {"rows": rows, "columns": columns}
    return of, {name: part for name, part in parts.items() if part is not None}


@settings(max_examples=80, deadline=None)
@given(parts_of_a_score())
def test_agrees_with_the_explicit_map(case: tuple[Sizes, dict[str, torch.Tensor]]):
    of, parts = case
    values = random_values(of)
    assert_same_values_and_gradients(
        fused_attention(values, **parts), explicit(values, **parts), [values, *parts.values()]
    )


@pytest.mark.parametrize("own_values", [False, True])
def test_gradcheck(own_values):
    torch.manual_seed(0)
    values = random(1, 2, 2, 3, 4) if own_values else random(1, 2, 3, 4)
    query, key = random(1, 2, 2, 3, 2), random(1, 2, 2, 3, 2)
    rows, columns = random(1, 2, 2, 3, 2), random(1, 2, 2, 3, 3)
    assert torch.autograd.gradcheck(fused_attention, (values, query, key, rows, columns))


class Operations(TorchDispatchMode):
    """Counts the operations that run, in forward and backward."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.counts[func.overloadpacket.__name__] += 1
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("own_values", [False, True])
@pytest.mark.parametrize("width", [2, 40], ids=["values narrower than keys", "values wider than keys"])
def test_runs_the_flash_kernel_forward_and_backward(dtype, own_values, width):
    def of(*size):
        return torch.randn(size, dtype=dtype, requires_grad=True)

    values = of(2, 3, 4, 7, width) if own_values else of(2, 4, 7, width)
    query, key = of(2, 3, 4, 7, 6), of(2, 3, 4, 7, 6)
    rows, columns = of(2, 3, 4, 7, 4), of(2, 3, 4, 7, 7)
    with Operations() as operations:
        fused_attention(values, query, key, rows, columns).sum().backward()
    assert operations.counts[FLASH] == 1
    assert operations.counts[FLASH + "_backward"] == 1
    assert not any("softmax" in name for name in operations.counts)


def test_a_dense_score_alone_is_refused():
    with pytest.raises(ValueError, match=r"needs content, or a row and a column score: .* shared_attention"):
        fused_attention(torch.zeros(1, 2, 3, 4), dense=torch.zeros(5, 2, 3, 2, 3))


def test_dropout_keeps_the_mean_and_differs_between_images():
    torch.manual_seed(0)
    query, key = torch.randn(1, 2, 3, 4, 5), torch.randn(1, 2, 3, 4, 5)
    values = torch.randn(1, 3, 4, 6)
    expected = fused_attention(values, query, key)[0]
    many = (4000, -1, -1, -1)
    drawn = fused_attention(values.expand(many), query.expand(*many, -1), key.expand(*many, -1), dropout=0.3)
    torch.testing.assert_close(drawn.mean(0), expected, rtol=0, atol=0.05)
    assert not torch.allclose(drawn[0], drawn[1], atol=1e-3)
    # A dropped weight is zero, a kept one is 1 / 0.7 times as large.
    weights = attention_weights(query, key)[0]
    identity = torch.eye(12).view(1, 3, 4, 12)
    maps = fused_attention(identity, query, key, dropout=0.3)[0].permute(2, 0, 1, 3).unflatten(-1, (3, 4))
    kept = maps != 0
    torch.testing.assert_close(maps[kept], weights[kept] / 0.7)
    assert 0 < kept.float().mean() < 1


def test_agrees_in_half_precision_to_its_rounding():
    torch.manual_seed(0)
    query, key, values = (torch.randn(2, 3, 4, 7, 8) for _ in range(3))
    dense = torch.randn(3, 4, 7, 4, 7)
    expected = apply_attention(attention_weights(query, key, dense=dense), values)
    halves = (part.bfloat16() for part in (values, query, key))
    fast = fused_attention(*halves, dense=dense)  # a score in float32 beside content in bfloat16
    assert fast.dtype == torch.bfloat16
    torch.testing.assert_close(fast.float(), expected, rtol=0, atol=0.05)


@pytest.mark.parametrize(
    ("grid", "dense", "dropout", "expected"),
    [
        ((4, 4), False, 0.0, True),
        ((8, 8), False, 0.0, False),
        ((8, 8), True, 0.0, True),
        ((8, 8), False, 0.1, True),
    ],
    ids=["small map", "large map", "dense score", "dropout"],
)
def test_when_a_cpu_writes_the_map_out(grid, dense, dropout, expected):
    assert map_is_faster(torch.empty(2, *grid, 16), 16, dense, dropout) is expected
    assert not map_is_faster(torch.empty(2, *grid, 16, device="meta"), 16, dense, dropout)
