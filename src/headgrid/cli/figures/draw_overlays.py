"""Figures of attention laid over the images."""

from collections.abc import Iterator
from typing import TypeVar

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from headgrid.cli.figures.drawing import Drawing
from headgrid.cli.figures.layer_view import LayerView
from headgrid.cli.figures.subject import LeftOut, Subject
from headgrid.figures.map_grid import QueryImage
from headgrid.figures.overlay import OverlaidMap, OverlayRow, overlay, overlay_grid

MOST_LAYERS = 8
"""Of a grid of images: of deeper models so many layers are shown, evenly spread."""

Maps = Float[ndarray, "n y x"]
Of = TypeVar("Of")


def draw_overlay(subject: Subject) -> Iterator[Drawing]:
    for example in subject.shown:
        views = subject.views(example)
        layers = [subject.layer_maps(view, view.of_query, view.query_on_keys) for view in views]
        figure = overlay(layers, [view.box for view in views], views[0].image(example.pixels), subject.title)
        yield Drawing(f"overlay-image-{example.name}", figure)


def draw_overlay_grid(subject: Subject) -> Iterator[Drawing]:
    rows = []
    for example in subject.examples:
        views = _spread(subject.views(example))
        maps = [OverlaidMap(view.of_query.mean(axis=0), view.box, view.query_on_keys) for view in views]
        rows.append(OverlayRow(example.label, views[0].image(example.pixels), maps))
    names = [view.name for view in _spread(subject.views(subject.examples[0]))]
    figure = overlay_grid(rows, names, f"{subject.title}: mean over the heads")
    yield Drawing("overlay-grid", figure)


def draw_class_token_overlay(subject: Subject) -> Iterator[Drawing]:
    for example in subject.shown:
        views = _with_class_token(subject.views(example))
        layers = [subject.layer_maps(view, maps) for view, maps in views]
        boxes = [view.box for view, _ in views]
        figure = overlay(layers, boxes, QueryImage(example.pixels), f"{subject.title}: class token")
        yield Drawing(f"class-token-overlay-image-{example.name}", figure)


def draw_class_token_grid(subject: Subject) -> Iterator[Drawing]:
    rows = []
    for example in subject.examples:
        views = _spread(_with_class_token(subject.views(example)))
        maps = [OverlaidMap(maps.mean(axis=0), view.box) for view, maps in views]
        rows.append(OverlayRow(example.label, QueryImage(example.pixels), maps))
    names = [view.name for view, _ in _spread(_with_class_token(subject.views(subject.examples[0])))]
    figure = overlay_grid(rows, names, f"{subject.title}: class token, mean over the heads")
    yield Drawing("class-token-grid", figure)


def _with_class_token(views: list[LayerView]) -> list[tuple[LayerView, Maps]]:
    found = [(view, view.of_class_token) for view in views if view.of_class_token is not None]
    if not found:
        raise LeftOut("it has no class token")
    return found


def _spread(layers: list[Of]) -> list[Of]:
    places = np.linspace(0, len(layers) - 1, min(MOST_LAYERS, len(layers))).round().astype(int)
    return [layers[place] for place in places]
