"""The sums that measures are made of: in any batches the same as of all images at once, and as loops find them."""

import math
import weakref

import pytest
import torch
from made_records import PLACEMENT, STRIDED, in_loops, layer_of, num_queries, random_layer, record_of

from headgrid.analysis import measure_records, record_batches
from headgrid.analysis.attention_record import LayerAttention, Placement
from headgrid.analysis.content_dependence import content_variances
from headgrid.analysis.layer_statistics import LayerStatistics
from headgrid.analysis.redundancy import redundant_groups, similarities
from headgrid.models import FullyAttentionalConfig

SUMS = ("mean_map", "squared_deviation", "products", "entropy_sum", "token_share_sum", "negative_share_sum")


def statistics_of(*layers):
    statistics = LayerStatistics(layers[0])
    for layer in layers:
        statistics.add(layer)
    return statistics


def part_of(layer, images):
    """Some images of a layer, with the same tokens and placement."""
    tokens = layer.tokens
    if tokens is not None:
        tokens = type(tokens)(tokens.to_pixels[images], tokens.from_pixels[images], tokens.among[images])
    return LayerAttention(layer.name, layer.weights[images], layer.placement, tokens)


@pytest.mark.parametrize("placement", [PLACEMENT, STRIDED], ids=["grid", "strided"])
@pytest.mark.parametrize("signs", [1, -1])
def test_against_loops(placement, signs):
    layer = random_layer(num_images=4, placement=placement)
    weights = layer.weights.clone()
    weights[1, 0, 1] *= signs  # one row of queries of one head, as without a softmax
    layer = LayerAttention("layer", weights, placement)
    statistics = statistics_of(layer)
    shares = [{}, {}]
    for head in range(2):
        entropy = 0.0
        for image, query, shift, share in in_loops(layer, head):
            shares[head][image, query, shift] = share
            entropy -= share * math.log(share)
        assert float(statistics.entropy[head]) == pytest.approx(entropy / (4 * num_queries(layer)))
        pairs = {pair[1:] for pair in shares[head]}
        means = {pair: sum(shares[head][image, *pair] for image in range(4)) / 4 for pair in pairs}
        deviation = sum((share - means[pair[1:]]) ** 2 for pair, share in shares[head].items())
        squares = sum(share**2 for share in shares[head].values())
        variance = content_variances(statistics)
        assert variance is not None
        assert float(variance[head]) == pytest.approx(deviation / squares)
        negative = 1 / (4 * len(placement.query_rows)) if signs < 0 and head == 0 else 0.0
        assert float(statistics.negative_share[head]) == pytest.approx(negative)
    cosine = sum(share * shares[1][pair] for pair, share in shares[0].items()) / math.sqrt(
        sum(share**2 for share in shares[0].values()) * sum(share**2 for share in shares[1].values())
    )
    found = similarities(statistics.products)
    assert found.tolist() == [[1.0, pytest.approx(cosine)], [pytest.approx(cosine), 1.0]]


@pytest.mark.parametrize("num_tokens", [0, 2])
@pytest.mark.parametrize("sizes", [(7,), (1, 6), (3, 3, 1), (1,) * 7])
def test_streaming_is_the_same_as_all_at_once(sizes, num_tokens):
    whole = random_layer(num_images=7, num_tokens=num_tokens)
    starts = [sum(sizes[:index]) for index in range(len(sizes))]
    parts = [part_of(whole, slice(start, start + size)) for start, size in zip(starts, sizes, strict=True)]
    streamed, at_once = statistics_of(*parts), statistics_of(whole)
    assert streamed.num_images == 7
    for name in SUMS:
        torch.testing.assert_close(getattr(streamed, name), getattr(at_once, name))
    shares = whole.weights / whole.weights.sum(dim=(-2, -1), keepdim=True)
    torch.testing.assert_close(streamed.mean_map, shares.mean(dim=0))
    torch.testing.assert_close(
        streamed.squared_deviation, (shares - shares.mean(dim=0)).square().sum(dim=(0, 2, 3, 4, 5))
    )


def test_a_map_shared_by_all_images_counts_once_for_each_and_varies_exactly_nothing():
    one = random_layer(num_images=1)
    shared = LayerAttention("layer", one.weights.expand(5, -1, -1, -1, -1, -1), PLACEMENT)
    written_out = LayerAttention("layer", one.weights.repeat(5, 1, 1, 1, 1, 1), PLACEMENT)
    assert shared.same_for_all_images
    assert not written_out.same_for_all_images
    found, expected = statistics_of(shared, shared), statistics_of(written_out, written_out)
    for name in SUMS:
        torch.testing.assert_close(getattr(found, name), getattr(expected, name))
    for statistics in (found, expected):
        assert content_variances(statistics).tolist() == [0.0, 0.0]
    mixed = statistics_of(shared, random_layer(num_images=2, seed=1))
    torch.testing.assert_close(
        mixed.squared_deviation,
        statistics_of(written_out, random_layer(num_images=2, seed=1)).squared_deviation,
    )


def test_heads_that_look_elsewhere_for_every_image_have_the_largest_content_variance():
    weights = torch.zeros(4, 1, 3, 4, 3, 4)
    for image in range(4):
        weights[image, ..., image % 3, image] = 1
    assert content_variances(statistics_of(layer_of(weights))).tolist() == [pytest.approx(1 - 1 / 4)]


def test_one_image_shows_nothing_of_content():
    assert content_variances(statistics_of(random_layer(num_images=1))) is None


def test_large_maps_are_taken_in_by_parts(monkeypatch):
    layer = random_layer()
    expected = statistics_of(layer)
    monkeypatch.setattr("headgrid.analysis.layer_statistics.NUMBERS_AT_ONCE", 100)
    found = statistics_of(layer)
    for name in SUMS:
        torch.testing.assert_close(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("broken", [float("nan"), float("inf")])
def test_weights_that_are_not_finite(broken):
    layer = random_layer()
    layer.weights[1, 0, 1, 2, 0, 0] = broken
    with pytest.raises(ValueError, match="weights of layer layer are not finite"):
        statistics_of(layer)


def test_images_of_another_size_in_a_later_batch():
    with pytest.raises(ValueError, match="measure images of one size"):
        statistics_of(random_layer(), random_layer(placement=Placement.of_grid((4, 4), (8, 8))))


def test_no_map_of_an_earlier_batch_is_alive_while_measuring():
    """Over six batches, measured from start to end, the maps of one are in memory at a time."""
    model = FullyAttentionalConfig(dim=8, num_layers=2, image_size=(8, 12)).build()
    alive: list[weakref.ref] = []
    at_start: list[int] = []

    def batches():
        for seed in range(6):
            at_start.append(sum(maps() is not None for maps in alive))
            yield torch.randn(2, 3, 8, 12, generator=torch.Generator().manual_seed(seed))

    class Watched:
        """Notes the maps of each record on its way to the measures."""

        def __init__(self, records):
            self.records = records

        def __iter__(self):
            return self

        def __next__(self):
            record = next(self.records)
            alive.extend(weakref.ref(layer.weights) for layer in record)
            return record

    measures = measure_records(Watched(record_batches(model, batches())))
    assert measures.num_images == 12
    assert len(alive) == 12
    assert at_start == [0] * 6


@pytest.mark.parametrize(
    ("similarity", "threshold", "groups"),
    [
        ([[1.0]], 0.5, ()),
        ([[1.0, 0.5], [0.5, 1.0]], 0.5, ()),  # not above
        ([[1.0, 0.6], [0.6, 1.0]], 0.5, ((0, 1),)),
        ([[1.0, 0.1, 0.9], [0.1, 1.0, 0.2], [0.9, 0.2, 1.0]], 0.5, ((0, 2),)),
        ([[1.0, 0.9, 0.1], [0.9, 1.0, 0.9], [0.1, 0.9, 1.0]], 0.5, ((0, 1, 2),)),  # through head 1
    ],
)
def test_redundant_groups(similarity, threshold, groups):
    assert redundant_groups(similarity, threshold) == groups


@pytest.mark.parametrize("seed", range(5))
def test_redundant_groups_are_the_components_of_a_graph(seed):
    links = torch.rand(7, 7, generator=torch.Generator().manual_seed(seed))
    similarity = torch.maximum(links, links.T).fill_diagonal_(1.0)
    reached = (similarity > 0.85).double()
    for _ in range(7):
        reached = (reached @ reached > 0).double()
    expected = {tuple(row.nonzero().flatten().tolist()) for row in reached}
    assert set(redundant_groups(similarity.tolist(), 0.85)) == {group for group in expected if len(group) > 1}


def test_records_of_heads_that_repeat_each_other():
    weights = random_layer(num_heads=3).weights
    weights[:, 2] = weights[:, 0]
    measures = measure_records([record_of(layer_of(weights, image_size=(6, 12)))])
    assert measures.layers[0].redundant == ((0, 2),)
    assert "heads 0 and 2 look at the same" in measures.layers[0].sentence
