"""Dropout on attention weights: one mask for a batch, or one for each image, on every path."""

import pytest
import torch
from kinds import POSITION_SCORES, SCORES, random_layer, random_pixels

from headgrid.attention import DropoutPerBatch, DropoutPerImage, MultiheadAttentionConfig
from headgrid.scores import ContentConfig


def _twice_the_same_image(times: int = 2) -> torch.Tensor:
    return random_pixels(1).detach().expand(times, -1, -1, -1)


@pytest.mark.parametrize("record", [False, True], ids=["fast", "explicit"])
@pytest.mark.parametrize("scores", SCORES)
def test_a_mask_per_image_differs_between_images(scores, record):
    layer = random_layer(scores, dropout=DropoutPerImage(0.5)).train()
    first, second = layer(_twice_the_same_image(), record=record).values
    assert not torch.allclose(first, second, atol=1e-3)


@pytest.mark.parametrize("record", [False, True], ids=["fast", "explicit"])
@pytest.mark.parametrize("scores", POSITION_SCORES)
def test_a_mask_per_batch_is_shared_by_its_images_and_drawn_anew_each_time(scores, record):
    layer = random_layer(scores, dropout=DropoutPerBatch(0.5)).train()
    pixels = _twice_the_same_image()
    first, second = layer(pixels, record=record).values
    torch.testing.assert_close(first, second)
    assert not torch.allclose(first, layer(pixels, record=record).values[0], atol=1e-3)


@pytest.mark.parametrize("dropout", [DropoutPerBatch(0.4), DropoutPerImage(0.4)], ids=["batch", "image"])
@pytest.mark.parametrize("scores", SCORES)
def test_both_paths_draw_the_same_masks_from_the_same_seed(scores, dropout):
    if scores not in POSITION_SCORES and isinstance(dropout, DropoutPerBatch):
        pytest.skip("weights that depend on the image have no mask for the batch")
    layer, pixels = random_layer(scores, "projected", dropout=dropout).train(), random_pixels(3)
    inputs = [pixels, *layer.parameters()]
    results = []
    for record in (False, True):
        torch.manual_seed(7)
        values = layer(pixels, record=record).values
        results.append((values, *torch.autograd.grad(values, inputs, torch.ones_like(values))))
    for fast, slow in zip(*results, strict=True):
        torch.testing.assert_close(fast, slow, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("scores", ["quadratic", "generalized", "query-position + content"])
def test_the_mean_over_masks_is_the_result_without_dropout(scores):
    layer = random_layer(scores, dropout=DropoutPerImage(0.3)).requires_grad_(False)
    pixels = _twice_the_same_image(4000)
    expected = layer.eval()(pixels[:1]).values[0]
    mean = layer.train()(pixels).values.mean(0)
    assert (mean - expected).abs().max() < 0.03 * expected.abs().max()


def test_recorded_weights_are_those_before_dropout():
    layer, pixels = random_layer("learned", dropout=DropoutPerBatch(0.5)), random_pixels()
    expected = layer.eval()(pixels, record=True).weights
    torch.testing.assert_close(layer.train()(pixels, record=True).weights, expected)


@pytest.mark.parametrize("scores", SCORES)
def test_no_dropout_in_eval_mode(scores):
    layer, pixels = random_layer(scores, dropout=DropoutPerImage(0.5)).eval(), random_pixels()
    assert torch.equal(layer(pixels).values, layer(pixels).values)


@pytest.mark.parametrize("kind", [DropoutPerBatch, DropoutPerImage])
@pytest.mark.parametrize("probability", [-0.1, 1.0])
def test_probabilities_outside_of_the_unit_interval_are_refused(kind, probability):
    with pytest.raises(ValueError, match=f"at least 0 and below 1, got {probability}"):
        kind(probability)


def test_a_mask_per_batch_for_weights_that_depend_on_the_image_is_refused():
    config = MultiheadAttentionConfig(scores=(ContentConfig(),), dropout=DropoutPerBatch())
    with pytest.raises(ValueError, match="depend on the image have a dropout mask per image: use DropoutPerImage"):
        config.build(8, (3, 5))
