"""Translated networks against the original's formulas, in float64 and for sizes that no stored case has."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from attention_cnn_original import KINDS, Original
from hypothesis import given, settings
from hypothesis import strategies as st

from headgrid.interop.attention_cnn import translate
from headgrid.models import FullyAttentional


def check(original: Original, grid: tuple[int, int], seed: int, config: dict) -> None:
    """Fast logits, explicit logits and all maps of the translated network."""
    state, images = original.random_state(seed), original.random_images(*grid, seed)
    logits, maps = original.run(state, images)
    model = translate(state, config)
    assert isinstance(model, FullyAttentional)
    assert sum(parameter.numel() for parameter in model.parameters()) == num_parameters(original)
    with torch.no_grad():
        fast = model(images)
        explicit, record = model(images, record=True)
    np.testing.assert_allclose(fast, logits, rtol=0, atol=1e-9 * max(1, np.abs(logits).max()))
    np.testing.assert_allclose(explicit, logits, rtol=0, atol=1e-9 * max(1, np.abs(logits).max()))
    for output, theirs in zip(record.values(), maps, strict=True):
        assert output.weights is not None
        np.testing.assert_allclose(output.weights, theirs, rtol=0, atol=1e-9)


def num_parameters(original: Original) -> int:
    constants = ("attention_mask", ".R", ".relative_indices")
    return sum(
        np.prod(shape, dtype=int) for name, shape in original.shapes().items() if not name.endswith(constants)
    )


@st.composite
def originals(draw: st.DrawFn) -> tuple[Original, tuple[int, int]]:
    """A network of any kind, and a map that its tables cover."""
    kind = draw(st.sampled_from(KINDS))
    grid = draw(st.tuples(st.integers(1, 4), st.integers(1, 5)))
    with_query = kind in ("learned_query", "learned_content")
    original = Original(
        kind=kind,
        heads=tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))),
        hidden=2 * draw(st.integers(2, 5)),
        intermediate=draw(st.integers(1, 7)),
        cell=draw(st.sampled_from([1, 2, 4])),
        positions=max(grid) + draw(st.integers(0, 3)),
        position_size=-1 if with_query else draw(st.sampled_from([-1, 1, 3, 8])),
        activation=draw(st.sampled_from(["gelu", "relu", "swish"])),
        epsilon=draw(st.sampled_from([1e-12, 1e-5, 0.1])),
        num_classes=draw(st.integers(1, 4)),
    )
    if with_query and draw(st.booleans()):
        original = replace(original, position_size=original.hidden // 2)
    return original, grid


SIZES = (
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
    "position_encoding_size",
    "pooling_concatenate_size",
    "attention_isotropic_gaussian",
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(originals(), st.integers(0, 99), st.sets(st.sampled_from(SIZES)))
def test_any_network(drawn: tuple[Original, tuple[int, int]], seed: int, unlisted: set[str]) -> None:
    original, grid = drawn
    check(original, grid, seed, {key: value for key, value in original.config.items() if key not in unlisted})


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_on_an_image_that_is_not_square(kind: str) -> None:
    original = Original(kind, heads=(2, 4, 1))
    check(original, (3, 5), seed=1, config=original.config)
    check(original, (5, 2), seed=2, config=original.config)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_reach_every_parameter(kind: str) -> None:
    original = Original(kind, heads=(2, 3))
    model = translate(original.random_state(), original.config).train()
    model(original.random_images(3, 4)).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.requires_grad
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


FAINT = {
    "first": ("features_upscale", "attention.self.value.bias", "attention.output.dense"),
    "second": ("attention.output.LayerNorm", "layer.0.output.dense"),
}
"""What makes the input of a layer's first or second norm vary by about a thousandth."""


@pytest.mark.parametrize("norm", FAINT)
@pytest.mark.parametrize("epsilon", [1e-12, 1e-5])
def test_epsilon_of_the_norms(norm: str, epsilon: float) -> None:
    """Seen where the pixels hardly vary: there 1e-12 and 1e-5 are far apart."""
    original = Original("quadratic", heads=(3,), epsilon=epsilon)
    state = original.random_state()
    for name, value in state.items():
        if any(part in name for part in FAINT[norm]):
            value.mul_(1e-3)
    images = original.random_images(3, 4)
    logits, _ = original.run(state, images)
    other, _ = replace(original, epsilon=1e-5 if epsilon == 1e-12 else 1e-12).run(state, images)
    with torch.no_grad():
        ours = translate(state, original.config)(images).numpy()
    assert np.abs(ours - logits).max() < 1e-9
    assert np.abs(ours - other).max() > 0.1


def test_gelu_is_the_exact_one() -> None:
    original = Original("quadratic")
    state, images = original.random_state(), original.random_images(3, 4)
    with torch.no_grad():
        ours = translate(state, original.config)(images).numpy()
    assert np.abs(ours - original.run(state, images)[0]).max() < 1e-9
    assert np.abs(ours - original.run(state, images, tanh_gelu=True)[0]).max() > 1e-5


@pytest.mark.parametrize("kind", KINDS)
def test_rows_and_columns_are_told_apart(kind: str) -> None:
    """The check itself: the transposed image has other logits, so that swapped axes cannot pass unseen."""
    original = Original(kind)
    state, images = original.random_state(), original.random_images(3, 3)
    logits, _ = original.run(state, images)
    transposed, _ = original.run(state, images.transpose(2, 3))
    assert np.abs(logits - transposed).max() > 1e-3
