"""The heads' centres moving during the training: a frame for each epoch."""

from collections.abc import Iterator, Mapping

import numpy as np
from matplotlib.figure import Figure

from headgrid.analysis import HeadCenters
from headgrid.figures.centers_during_training import epoch_name
from headgrid.figures.centers_of_layers import centers_of_layers
from headgrid.figures.centers_panel import LEGEND_WIDTH, window_around
from headgrid.figures.panels import text_width
from headgrid.figures.style import TITLE_SIZE


def centers_animation(epochs: Mapping[int, Mapping[str, HeadCenters]], title: str = "") -> Iterator[Figure]:
    """Figures of one size and one window, in the order of the epochs; thin lines are the ways that centres came."""
    if not epochs:
        raise ValueError("there are no epochs to show: give the centres of at least one")
    window = window_around(heads for layers in epochs.values() for heads in layers.values())
    titles = [", ".join(filter(None, (title, epoch_name(epoch)))) for epoch in epochs]
    width = max(LEGEND_WIDTH, *(text_width(words, TITLE_SIZE) + 0.2 for words in titles))
    ways: dict[str, list[np.ndarray]] = {}
    for words, layers in zip(titles, epochs.values(), strict=True):
        for name, heads in layers.items():
            ways.setdefault(name, []).append(heads.centers.numpy())
        trails = {name: np.stack(way) for name, way in ways.items()}
        yield centers_of_layers(layers, words, window, trails, width)
