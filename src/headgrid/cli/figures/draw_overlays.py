"""Figures of attention laid over the images."""

from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from headgrid.analysis import head_order
from headgrid.cli.figures.drawing import Drawing
from headgrid.cli.figures.layer_view import LayerView
from headgrid.cli.figures.subject import LeftOut, Subject
from headgrid.figures.map_grid import LayerMaps, QueryImage
from headgrid.figures.overlay import OverlayRow, overlay, overlay_grid

MOST_LAYERS = 8
"""Of a grid of images: of deeper models so many layers are shown, evenly spread."""

Maps = Float[ndarray, "n y x"]
See = Callable[[LayerView], Maps]
"""What is laid over the image."""


def draw_overlay(subject: Subject) -> Iterator[Drawing]:
    for example in subject.shown:
        views = subject.views(example)
        yield _heads(subject, f"overlay-image-{example.name}", views, _of_query, views[0].image(example.pixels))


def draw_class_token_overlay(subject: Subject) -> Iterator[Drawing]:
    for example in subject.shown:
        views = _with_class_token(subject.views(example))
        name = f"class-token-overlay-image-{example.name}"
        yield _heads(subject, name, views, _of_class_token, QueryImage(example.pixels))


def draw_overlay_grid(subject: Subject) -> Iterator[Drawing]:
    rows = []
    for example in subject.examples:
        views = _spread(subject.views(example))
        rows.append(_row(example.name, views, _of_query, views[0].image(example.pixels)))
    yield _grid(subject, "overlay-grid", rows, _spread(subject.views(subject.examples[0])))


def draw_class_token_grid(subject: Subject) -> Iterator[Drawing]:
    rows = []
    for example in subject.examples:
        views = _spread(_with_class_token(subject.views(example)))
        rows.append(_row(example.name, views, _of_class_token, QueryImage(example.pixels)))
    yield _grid(subject, "class-token-grid", rows, _spread(_with_class_token(subject.views(subject.examples[0]))))


def _of_query(view: LayerView) -> Maps:
    return view.of_query


def _of_class_token(view: LayerView) -> Maps:
    assert view.of_class_token is not None
    return view.of_class_token


def _with_class_token(views: list[LayerView]) -> list[LayerView]:
    found = [view for view in views if view.of_class_token is not None]
    if not found:
        raise LeftOut("it has no class token")
    return found


def _heads(subject: Subject, name: str, views: list[LayerView], see: See, image: QueryImage) -> Drawing:
    layers = []
    for view in views:
        maps = see(view)
        order = head_order(maps) if subject.choices.sort_heads else None
        layers.append(LayerMaps(view.name, maps if order is None else maps[list(order)], heads=order))
    return Drawing(name, overlay(layers, [view.box for view in views], image, subject.title))


def _row(name: str, views: list[LayerView], see: See, image: QueryImage) -> OverlayRow:
    return OverlayRow(name, image, [see(view).mean(axis=0) for view in views], [view.box for view in views])


def _grid(subject: Subject, name: str, rows: list[OverlayRow], views: list[LayerView]) -> Drawing:
    title = f"{subject.title}: mean over the heads"
    return Drawing(name, overlay_grid(rows, [view.name for view in views], title))


def _spread(views: list[LayerView]) -> list[LayerView]:
    places = np.linspace(0, len(views) - 1, min(MOST_LAYERS, len(views))).round().astype(int)
    return [views[place] for place in places]
