"""A record while the model runs: layers come in one after the other, each under a name of its own."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headgrid.analysis.attention_record import AttentionRecord, LayerAttention

MOST_NAMES = 3
"""So many layers are named where many are left out for the same reason."""


class NoMapError(Exception):
    """Why the attention of a layer cannot be written as maps of the image; the record says so and goes on."""


def in_words(left_out: Mapping[str, str]) -> list[str]:
    """The layers that are left out, those with the same reason together."""
    layers: dict[str, list[str]] = {}
    for layer, reason in left_out.items():
        layers.setdefault(reason, []).append(layer)
    lines = []
    for reason, names in layers.items():
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        lines.append(f"{', '.join(names[:MOST_NAMES])}{more}: {reason}")
    return lines


@dataclass
class Recording:
    """What has been seen so far of a model's attention on a batch of images."""

    num_images: int
    image_size: tuple[int, int]
    layers: dict[str, LayerAttention] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    _num_calls: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, make: Callable[[str], LayerAttention]) -> str:
        """Adds the layer that ``make`` gives for a name. The second call of a layer is called ``<name>:1``.

        Returns the name of the call, also if there is no map of it.
        """
        name = self._name_of_call(name)
        try:
            self.layers[name] = make(name)
        except NoMapError as reason:
            self.left_out[name] = str(reason)
        return name

    def leave_out(self, name: str, reason: str) -> None:
        """Notes a layer that cannot be seen."""
        self.left_out[self._name_of_call(name)] = reason

    def finish(self, output: Any) -> AttentionRecord:
        return AttentionRecord(self.layers, output, self.image_size, self.left_out)

    def _name_of_call(self, name: str) -> str:
        call = self._num_calls[name]
        self._num_calls[name] += 1
        return f"{name}:{call}" if call else name
