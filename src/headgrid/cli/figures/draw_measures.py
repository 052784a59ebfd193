"""Figures of what `headgrid analyze` measures: where heads look on the mean, how far, how alike, how stable."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from headgrid.analysis import LayerMeasures, Thresholds, record_batches, shift_distributions
from headgrid.analysis.degenerate_heads import DegeneracyThresholds, degenerate_heads
from headgrid.analysis.record_attention import record_attention
from headgrid.analysis.rollout import rollout
from headgrid.cli.figures.drawing import Drawing
from headgrid.cli.figures.layer_view import LayerView
from headgrid.cli.figures.subject import LeftOut, Subject
from headgrid.figures.head_shapes import head_shapes
from headgrid.figures.head_similarity import head_similarity
from headgrid.figures.heads_by_layer import HeadQuantity, heads_by_layer
from headgrid.figures.kernel_covers import ShownCover, kernel_covers
from headgrid.figures.map_grid import QueryImage
from headgrid.figures.overlay import OverlaidMap, OverlayRow, overlay_grid
from headgrid.figures.shift_distributions import shift_distributions as distributions_figure

MOST_LAYERS = 8
"""Of a rollout: of deeper models so many depths are shown, evenly spread."""


def draw_shift_distributions(subject: Subject) -> Iterator[Drawing]:
    views = subject.views(subject.examples[0])
    batches = subject.batches("distributions over shifts")
    found = shift_distributions(record_batches(subject.network, batches))
    layers, peak_masses = [], {}
    for view in views:
        distribution = found[view.module]
        row, column = distribution.first
        layer = subject.layer_maps(view, distribution.shares.cpu().numpy(), (-row, -column))
        peaks = np.array(
            [float(distribution.mass(shift)[head]) for head, shift in enumerate(distribution.peak_shifts())]
        )
        layers.append(layer)
        peak_masses[view.name] = peaks if layer.heads is None else peaks[list(layer.heads)]
    title = f"{subject.title}: shifts, on {subject.num_images} images"
    yield Drawing("shift-distributions", distributions_figure(layers, peak_masses, title))


def draw_kernel_covers(subject: Subject) -> Iterator[Drawing]:
    shown = [
        ShownCover(name, layer.cover.kernel_size, layer.cover.heads, layer.cover.masses)
        for name, layer in _measured(subject).items()
    ]
    yield Drawing("kernel-covers", kernel_covers(shown, subject.title))


def draw_head_similarity(subject: Subject) -> Iterator[Drawing]:
    matrices = {name: np.array(layer.similarity) for name, layer in _measured(subject).items()}
    yield Drawing("head-similarity", head_similarity(matrices, Thresholds().similarity, subject.title))


def draw_locality(subject: Subject) -> Iterator[Drawing]:
    layers = [layer.heads for layer in _measured(subject).values()]
    yield Drawing(
        "locality",
        heads_by_layer(
            [
                HeadQuantity(
                    "mean distance in the image",
                    [np.array([head.mean_distance_in_image for head in heads]) for heads in layers],
                ),
                HeadQuantity(
                    "non-locality",
                    [np.array([head.non_locality for head in heads]) for heads in layers],
                    marked=1.0,
                ),
                HeadQuantity(
                    "pixels looked at",
                    [np.exp([head.entropy for head in heads]) for heads in layers],
                ),
            ],
            subject.title,
        ),
    )


def draw_content_dependence(subject: Subject) -> Iterator[Drawing]:
    layers = [layer.heads for layer in _measured(subject).values()]
    if subject.num_images < 2:
        raise LeftOut("whether heads look at the image shows from two images on: --mean-over 2 or more")
    yield Drawing(
        "content-dependence",
        heads_by_layer(
            [
                HeadQuantity(
                    "content dependence",
                    [np.array([head.content_variance for head in heads], dtype=float) for heads in layers],
                    highest=1.0,
                ),
                HeadQuantity(
                    "translation invariance",
                    [np.array([head.translation_invariance for head in heads]) for heads in layers],
                    highest=1.0,
                ),
            ],
            subject.title,
        ),
    )


def draw_head_shapes(subject: Subject) -> Iterator[Drawing]:
    spreads = degenerate_heads(subject.network)
    if not spreads:
        raise LeftOut("only heads whose score is one quadratic term are Gaussians that can degenerate")
    layers = subject.named(
        {
            name: np.array([spread.eigenvalues for spread in spreads if spread.layer == name])
            for name in dict.fromkeys(spread.layer for spread in spreads)
        }
    )
    limits = DegeneracyThresholds()
    yield Drawing("head-shapes", head_shapes(layers, limits.eigenvalue, limits.condition_number, subject.title))


def draw_rollout(subject: Subject) -> Iterator[Drawing]:
    rows, names = [], []
    for example in subject.examples:
        views = subject.views(example)
        record = record_attention(subject.network, example.images.to(subject.choices.device))
        depths = np.linspace(1, len(views), min(MOST_LAYERS, len(views))).round().astype(int)
        maps, of_class_token = [], False
        for depth in depths:
            first = dict(list(record.layers.items())[:depth])
            try:
                result = rollout(replace(record, layers=first))
            except ValueError as error:
                raise LeftOut(str(error)) from error
            of_class_token = result.num_tokens > 0
            of_query = result.of_token(0) if of_class_token else result.of_query(*views[0].query)
            query = None if of_class_token else views[0].query_on_keys
            maps.append(OverlaidMap(of_query[0].cpu().numpy(), views[0].box, query))
        image = QueryImage(example.pixels) if of_class_token else views[0].image(example.pixels)
        rows.append(OverlayRow(example.label, image, maps))
        names = [f"to {views[depth - 1].name}" for depth in depths]
    yield Drawing("rollout", overlay_grid(rows, names, f"{subject.title}: attention rollout"))


def _measured(subject: Subject) -> dict[str, LayerMeasures]:
    """By the layers' names in figures."""
    views: list[LayerView] = subject.views(subject.examples[0])  # says why where there is no attention
    names = {view.module: view.name for view in views}
    return {names[layer.layer]: layer for layer in subject.measures.layers}
