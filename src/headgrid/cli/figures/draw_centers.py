"""Figures of where heads look: centres, ellipses, and their way during the training."""

from collections.abc import Iterator, Mapping
from typing import TypeVar

import numpy as np

from headgrid.analysis import fitted_centers
from headgrid.cli.figures.drawing import Drawing, MovingDrawing
from headgrid.cli.figures.subject import LeftOut, Subject
from headgrid.figures.centers_animation import centers_animation
from headgrid.figures.centers_during_training import centers_during_training
from headgrid.figures.centers_of_layers import centers_of_layers
from headgrid.figures.centers_over_epochs import centers_over_epochs
from headgrid.figures.ellipses import ellipses
from headgrid.scores.position import GeneralizedQuadraticScore

LAYER_OF_FIGURE_2 = 3
"""The fourth layer, counted from 0: the one that the paper shows during the training."""

NUM_SHOWN_EPOCHS = 5
MOST_FRAMES = 150
"""Of an animation, so that longer trainings stay small files."""

Of = TypeVar("Of")


def draw_centers_during_training(subject: Subject) -> Iterator[Drawing]:
    epochs = _thinned(subject.centers(), NUM_SHOWN_EPOCHS)
    names = list(next(iter(epochs.values())))
    name = names[subject.chosen_layer(len(names), LAYER_OF_FIGURE_2)]
    of_layer = {epoch: layers[name] for epoch, layers in epochs.items()}
    yield Drawing("centers-during-training", centers_during_training(of_layer, f"{subject.title}: {name}"))


def draw_centers_of_layers(subject: Subject) -> Iterator[Drawing]:
    yield Drawing("centers-of-layers", centers_of_layers(subject.last_centers(), subject.title))


def draw_centers_over_epochs(subject: Subject) -> Iterator[Drawing]:
    epochs = _thinned(subject.centers(), NUM_SHOWN_EPOCHS)
    yield Drawing("centers-over-epochs", centers_over_epochs(epochs, subject.title))


def draw_centers_animation(subject: Subject) -> Iterator[MovingDrawing]:
    epochs = _thinned(subject.centers(), MOST_FRAMES)
    yield MovingDrawing("centers-animation", lambda: centers_animation(epochs, subject.title), len(epochs))


def draw_ellipses(subject: Subject) -> Iterator[Drawing]:
    if not any(isinstance(module, GeneralizedQuadraticScore) for module in subject.network.modules()):
        raise LeftOut("only generalized quadratic scores are ellipses (fitted-ellipses shows any model)")
    yield Drawing("ellipses", ellipses(subject.last_centers(), subject.title))


def draw_fitted_ellipses(subject: Subject) -> Iterator[Drawing]:
    views = subject.views(subject.examples[0])  # says why where there is no attention
    names = {view.module: view.name for view in views}
    layers = {names[name]: heads for name, heads in fitted_centers(subject.measures).items()}
    title = f"{subject.title}: fitted to the attention on {subject.num_images} images"
    yield Drawing("fitted-ellipses", ellipses(layers, title))


def _thinned(epochs: Mapping[int, Of], most: int) -> dict[int, Of]:
    """At most so many epochs, evenly spread; the first and the last are among them."""
    numbers = sorted(epochs)
    places = np.linspace(0, len(numbers) - 1, min(most, len(numbers))).round().astype(int)
    return {numbers[place]: epochs[numbers[place]] for place in places}
