"""The heads' centres moving during the training: a frame for each epoch."""

from collections.abc import Iterator, Mapping

import numpy as np
from matplotlib.figure import Figure

from headgrid.analysis import HeadCenters
from headgrid.figures.centers_during_training import epoch_name
from headgrid.figures.centers_of_layers import centers_of_layers
from headgrid.figures.centers_panel import window_around


def centers_animation(epochs: Mapping[int, Mapping[str, HeadCenters]]) -> Iterator[Figure]:
    """Figures of one size and one window, in the order of the epochs; thin lines are the ways that centres came."""
    if not epochs:
        raise ValueError("there are no epochs to show: give the centres of at least one")
    window = window_around(heads for layers in epochs.values() for heads in layers.values())
    ways: dict[str, list[np.ndarray]] = {}
    for epoch, layers in epochs.items():
        for name, heads in layers.items():
            ways.setdefault(name, []).append(heads.centers.numpy())
        trails = {name: np.stack(way) for name, way in ways.items()}
        yield centers_of_layers(layers, epoch_name(epoch), window, trails)
