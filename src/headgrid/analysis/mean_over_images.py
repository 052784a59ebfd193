"""Means over any number of images, of which one batch at a time is in memory."""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from torch import Tensor

from headgrid.analysis.attention_record import AttentionRecord
from headgrid.analysis.float64 import in_float64

Key = TypeVar("Key", bound=Hashable)


def mean_over_images(
    records: Iterable[AttentionRecord], maps_of: Callable[[AttentionRecord], dict[Key, Tensor]]
) -> dict[Key, Tensor]:
    """The means, in float64, of arrays that ``maps_of`` makes of a record; their first axis counts images."""
    sums: dict[Key, Tensor] = {}
    num_images: dict[Key, int] = {}
    for record in records:
        maps = maps_of(record)
        del record  # so that its weights are gone before the next ones are made
        for key, array in maps.items():
            total = in_float64(array).sum(dim=0)
            if key in sums and sums[key].shape != total.shape:
                raise ValueError(
                    f"the maps of {key} change their size from {tuple(sums[key].shape)} to {tuple(total.shape)}: a "
                    f"mean needs images of one size"
                )
            sums[key] = sums[key] + total if key in sums else total
            num_images[key] = num_images.get(key, 0) + len(array)
        del maps
    if not sums:
        raise ValueError("there is nothing to average: expected the record of at least one batch of images")
    return {key: total / num_images[key] for key, total in sums.items()}
