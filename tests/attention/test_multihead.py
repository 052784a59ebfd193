"""Properties of the attention layer as a whole: what stays apart stays apart, and what is refused."""

import copy

import pytest
import torch
from kinds import POSITION_SCORES, SCORES, random_layer, random_pixels

from headgrid.attention import FullHeads, MergedValues, MultiheadAttentionConfig, ProjectedValues, SplitHeads
from headgrid.scores import GridCenters, QuadraticConfig


def _transposed(layer):
    """The layer with rows and columns exchanged in every parameter that knows them."""
    twin = copy.deepcopy(layer)
    with torch.no_grad():
        for term in twin.score.terms:
            names = dict(term.named_parameters())
            if "centers" in names:
                term.centers.copy_(term.centers.flip(1))
            if "spreads" in names and term.spreads.dim() == 3:
                term.spreads.copy_(term.spreads.flip(1))
            if "row_vectors.weight" in names:
                term.row_vectors, term.column_vectors = term.column_vectors, term.row_vectors
            if "encoding.row_table" in names:
                encoding = term.encoding
                encoding.row_table, encoding.column_table = encoding.column_table, encoding.row_table
            if "encoding.table" in names:
                term.encoding.table = torch.nn.Parameter(term.encoding.table.transpose(0, 1).contiguous())
            if "position_key.weight" in names:
                term.position_key.weight.copy_(_halves_exchanged(term.position_key.weight.T).T)
        if any(type(term).__name__ == "QueryPositionScore" for term in twin.score.terms):
            # Halves of the queries meet rows and columns; where keys meet queries they follow.
            for linear in (twin.query, twin.key):
                if linear is not None:
                    for part in (linear.weight, linear.bias):
                        per_head = part.unflatten(0, (twin.num_heads, -1))
                        part.copy_(torch.stack([_halves_exchanged(head) for head in per_head]).flatten(0, 1))
    return twin


def _halves_exchanged(tensor):
    first, second = tensor.chunk(2)
    return torch.cat([second, first])


@pytest.mark.parametrize("record", [False, True], ids=["fast", "explicit"])
@pytest.mark.parametrize("scores", [name for name in SCORES if name != "absolute sinusoids"])
def test_rows_and_columns_are_never_swapped(scores, record):
    """The transposed image through the transposed layer gives the transposed output."""
    layer, pixels = random_layer(scores, grid=(5, 6)), random_pixels()
    expected, turned = layer(pixels, record=record), _transposed(layer)(pixels.transpose(1, 2), record=record)
    torch.testing.assert_close(turned.values, expected.values.transpose(1, 2))
    if scores != "content":  # which sees no positions
        assert not torch.allclose(layer(pixels.transpose(1, 2)).values, turned.values, atol=1e-3)
    if record:
        torch.testing.assert_close(turned.weights, expected.weights.permute(0, 1, 3, 2, 5, 4))


@pytest.mark.parametrize("values", ["merged", "projected", "split"])
@pytest.mark.parametrize("scores", ["quadratic", "generalized", "query-position + content", "equation 8"])
def test_heads_and_pixels_never_interleave(scores, values):
    """A change of one head's parameters changes the weights of that head only, and its part of the output."""
    layer, pixels = random_layer(scores, values, num_heads=3, dim=12), random_pixels(dim=12)
    before = layer(pixels, record=True)
    layer.mixing.weight.data.unflatten(1, (3, -1))[:, 1] = 0  # head 1 says nothing any more
    muted = layer(pixels).values
    head = slice(layer.head_dim, 2 * layer.head_dim)
    with torch.no_grad():
        for linear in (layer.query, layer.key, layer.value):
            if linear is not None:
                linear.weight[head] += 1.0
        for term in layer.score.terms:
            for name in ("centers", "spreads", "u", "v"):
                if hasattr(term, name):
                    getattr(term, name)[1] += 0.5
    after = layer(pixels, record=True)
    assert torch.equal(after.weights[:, [0, 2]], before.weights[:, [0, 2]])
    assert (after.weights[:, 1] - before.weights[:, 1]).abs().max() > 1e-3
    torch.testing.assert_close(after.values, muted)
    torch.testing.assert_close(layer(pixels).values, muted)


@pytest.mark.parametrize("record", [False, True], ids=["fast", "explicit"])
@pytest.mark.parametrize("scores", SCORES)
def test_images_of_a_batch_do_not_see_each_other(scores, record):
    layer, pixels = random_layer(scores), random_pixels(3)
    together = layer(pixels, record=record).values
    for image in range(3):
        torch.testing.assert_close(layer(pixels[image : image + 1], record=record).values[0], together[image])


@pytest.mark.parametrize("scores", SCORES)
def test_weights_are_returned_on_request_only_and_sum_to_one(scores):
    layer, pixels = random_layer(scores), random_pixels()
    assert layer(pixels).weights is None
    weights = layer(pixels, record=True).weights
    assert weights.shape == (2, 2, 3, 5, 3, 5)
    assert (weights >= 0).all()
    torch.testing.assert_close(weights.sum((-2, -1)), torch.ones(2, 2, 3, 5, dtype=torch.float64))


@pytest.mark.parametrize("scores", POSITION_SCORES)
def test_maps_that_do_not_depend_on_the_image_can_be_had_without_one(scores):
    layer, pixels = random_layer(scores), random_pixels()
    recorded = layer(pixels, record=True).weights
    for image in range(2):
        torch.testing.assert_close(layer.weights(3, 5), recorded[image])


def test_maps_that_depend_on_the_image_cannot():
    with pytest.raises(ValueError, match="weights depend on the image: run the layer with record=True"):
        random_layer("content").weights(3, 5)


@pytest.mark.parametrize("scores", ["content", "query-position + content", "equation 8", "absolute"])
def test_a_key_that_is_given_replaces_the_layers_own(scores):
    layer, pixels = random_layer(scores), random_pixels()
    own = layer(pixels)
    torch.testing.assert_close(layer(pixels, key=own.key).values, own.values)
    other = layer(torch.randn_like(pixels)).key
    for record in (False, True):
        replaced = layer(pixels, key=other, record=record)
        assert replaced.key is other
        assert not torch.allclose(replaced.values, own.values, atol=1e-3)
    torch.testing.assert_close(layer(pixels, key=other).values, replaced.values)


def test_scores_without_content_have_neither_queries_nor_keys():
    layer = random_layer("quadratic")
    assert layer.query is None
    assert layer.key is None
    assert layer(random_pixels()).key is None
    assert random_layer("query-position").key is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_heads": 0}, "at least one head, got num_heads = 0"),
        ({"num_heads": -3}, "at least one head, got num_heads = -3"),
        ({"scores": ()}, "needs at least one term"),
        (
            {"num_heads": 3, "heads": SplitHeads(), "values": ProjectedValues()},
            "by the number of heads: 8 is not by 3",
        ),
        ({"num_heads": 4, "heads": SplitHeads()}, "heads of 2 channels on pixels of 8 need projected values"),
        ({"num_heads": 8, "scores": (QuadraticConfig(GridCenters()),)}, "square number of heads, got 8"),
    ],
)
def test_layers_that_cannot_be_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        MultiheadAttentionConfig(**options).build(8, (3, 5))


def test_one_split_head_is_as_wide_as_a_pixel_and_may_have_merged_values():
    assert SplitHeads().head_dim(8, 1) == FullHeads().head_dim(8, 1)
    MultiheadAttentionConfig(num_heads=1, heads=SplitHeads(), values=MergedValues()).build(8, (3, 5))


@pytest.mark.parametrize("scores", ["learned", "query-position", "equation 8", "absolute"])
def test_maps_beyond_the_learned_tables_are_refused(scores):
    layer = random_layer(scores, grid=(3, 5))
    layer(random_pixels(1, 3, 5))
    for height, width in ((4, 5), (3, 6)):
        with pytest.raises(ValueError, match=r"was built for .* the map has .*enlarge_tables\(model, image_size\)"):
            layer(random_pixels(1, height, width))


@pytest.mark.parametrize("scores", ["quadratic", "generalized", "content", "equation 8 with sinusoids"])
def test_scores_without_tables_take_maps_of_any_size(scores):
    layer = random_layer(scores, grid=(2, 2))
    assert layer(random_pixels(1, 9, 4)).values.shape == (1, 9, 4, 4)
    assert layer(random_pixels(1, 1, 1)).values.shape == (1, 1, 1, 4)
