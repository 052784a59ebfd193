"""Figures of attention maps beside the image: of one query pixel, averages, footprints, the illustration."""

from collections.abc import Iterator

import numpy as np
import torch

from headgrid.analysis import head_centers, head_order, mean_query_attention, record_batches
from headgrid.attention import FootprintAttentionOutput
from headgrid.cli.figures.drawing import Drawing
from headgrid.cli.figures.layer_view import LayerView
from headgrid.cli.figures.subject import LeftOut, Subject
from headgrid.figures.attention_maps import attention_maps
from headgrid.figures.average_attention import average_attention
from headgrid.figures.footprint_maps import MOST_IN_A_ROW, FootprintMaps, footprint_maps, footprint_square
from headgrid.figures.layer_illustration import ShownHead, layer_illustration
from headgrid.figures.map_grid import QueryImage
from headgrid.models import SAN, HierarchicalSAN

NUM_ILLUSTRATED_HEADS = 4


def draw_layer_illustration(subject: Subject) -> Iterator[Drawing]:
    exact = head_centers(subject.network)
    for example in subject.shown:
        views = subject.views(example)
        view = views[subject.chosen_layer(len(views), 0)]
        num_heads = len(view.of_query)
        order = head_order(view.of_query)
        places = np.linspace(0, num_heads - 1, min(NUM_ILLUSTRATED_HEADS, num_heads)).round().astype(int)
        centers = exact.get(view.module)
        heads = [
            ShownHead(
                head,
                view.of_query[head],
                _peak_shift(view, head) if centers is None else tuple(centers.centers[head].tolist()),
            )
            for head in sorted(order[place] for place in places)
        ]
        title = f"{subject.title}: {view.name}"
        figure = layer_illustration(view.image(example.pixels), heads, view.query_on_keys, num_heads, title)
        yield Drawing(f"layer-illustration-image-{example.name}", figure)


def draw_attention_maps(subject: Subject) -> Iterator[Drawing]:
    for example in subject.shown:
        views = subject.views(example)
        layers = [subject.layer_maps(view, view.of_query, view.query_on_keys) for view in views]
        figure = attention_maps(layers, views[0].image(example.pixels), subject.title)
        yield Drawing(f"attention-maps-image-{example.name}", figure)


def draw_mean_attention_maps(subject: Subject) -> Iterator[Drawing]:
    example = subject.examples[0]
    views = subject.views(example)
    records = record_batches(subject.network, subject.batches("attention maps, mean over images"))
    means = mean_query_attention(records, *subject.query(example))
    layers = [
        subject.layer_maps(view, means[view.module].float().cpu().numpy(), view.query_on_keys) for view in views
    ]
    title = f"{subject.title}: mean over {subject.num_images} images"
    yield Drawing("mean-attention-maps", attention_maps(layers, title=title))


def draw_average_attention(subject: Subject) -> Iterator[Drawing]:
    for example in subject.shown:
        layers = [subject.layer_maps(view, view.received) for view in subject.views(example)]
        figure = average_attention(layers, QueryImage(example.pixels), subject.title)
        yield Drawing(f"average-attention-image-{example.name}", figure)


def draw_footprint_maps(subject: Subject) -> Iterator[Drawing]:
    network = subject.network
    if not isinstance(network, SAN | HierarchicalSAN):
        raise LeftOut("only SAN attends within footprints")
    for example in subject.shown:
        with torch.no_grad():
            _, outputs = network(example.images.to(subject.choices.device), record=True)
        layers = [_footprint(number, output) for number, output in enumerate(outputs.values())]
        if len({layer.size for layer in layers}) == 1 and layers[0].size ** 2 <= MOST_IN_A_ROW:
            figure = footprint_maps(layers, QueryImage(example.pixels), subject.title)
            yield Drawing(f"footprint-maps-image-{example.name}", figure)
            continue
        for number, layer in enumerate(layers):
            figure = footprint_square(layer, QueryImage(example.pixels), f"{subject.title}: {layer.name}")
            yield Drawing(f"footprint-maps-layer-{number + 1}-image-{example.name}", figure)


def _peak_shift(view: LayerView, head: int) -> tuple[float, float]:
    """From the query pixel to where a head looks most."""
    weights = view.of_query[head]
    peak = np.unravel_index(int(weights.argmax()), weights.shape)
    row, column = view.query_on_keys
    return float(peak[0] - row), float(peak[1] - column)


def _footprint(number: int, output: FootprintAttentionOutput) -> FootprintMaps:
    assert output.weights is not None
    weights = output.weights[0].float().mean(dim=0).permute(2, 0, 1).cpu().numpy()
    return FootprintMaps(f"layer {number + 1}", weights, output.footprint.shifts().numpy())
