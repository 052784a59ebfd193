"""What figures are drawn of: one run or model, with its arrays, computed when a figure asks for them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn

from headgrid.analysis import (
    AttentionMeasures,
    HeadCenters,
    centers_of_row,
    head_centers,
    head_order,
    measure_attention,
)
from headgrid.cli.data_argument import final_split
from headgrid.cli.figures.example import Example, example_of_data, example_of_file, spread_over
from headgrid.cli.figures.layer_view import LayerView, views_of
from headgrid.cli.model_argument import OwnModel, load_images, open_model
from headgrid.data import Dataset, Normalization
from headgrid.data.progress import progress
from headgrid.experiments import experiment_of
from headgrid.figures.map_grid import LayerMaps
from headgrid.interop.foreign_model import ForeignModel, is_foreign_name
from headgrid.models import ResNet
from headgrid.stacks import Hierarchical, Plain, SharedWeights
from headgrid.training import RunFolder

Of = TypeVar("Of")

NUM_GRID_IMAGES = 4
"""Images of a grid where none are chosen; figures of one image show the first."""


class LeftOut(Exception):  # noqa: N818 (no mistake: the model has not what the figure shows)
    """Why a figure cannot be drawn of this model."""


@dataclass(frozen=True)
class Choices:
    """What the command line says about all figures."""

    images: tuple[str, ...]
    """Numbers of images of the data set, or image files; none chosen are some of the data set."""
    query: tuple[int, int] | None
    """The query pixel, on the image; none is the middle."""
    num_images: int
    """Images that means are taken over."""
    layer: int | None
    """Which layer, from 1, where a figure shows only one."""
    sort_heads: bool
    """Whether heads stand in the order of their similarity."""
    data: str | None
    data_dir: Path | None
    device: torch.device


class Subject:
    """One of the command line's RUN_OR_MODEL."""

    def __init__(self, word: str, choices: Choices) -> None:
        self.word, self.choices = word, choices
        self.path = None if is_foreign_name(word) else Path(word)
        self.experiment = None if self.path is None else experiment_of(self.path)
        self.run = RunFolder(self.path) if self.path is not None and self.path.is_dir() else None
        self._views: dict[str, list[LayerView]] = {}

    @property
    def title(self) -> str:
        """What figures are headed with."""
        if self.experiment is None:
            return self.name if self.path is not None else self.word.split(",")[0]
        return f"{self.experiment.name}, size {self.experiment.size}"

    @property
    def name(self) -> str:
        """For folders and legends: of a run its folder, of a file its name, of a foreign model its name."""
        if self.path is None:
            model = self.word.split(",")[0]
            return re.sub(r"[^\w.-]+", "-", model.rstrip("/").rsplit("/", 1)[-1] if "/" in model else model)
        return self.path.resolve().name if self.run is not None else self.path.stem

    @property
    def folder(self) -> Path:
        """Where its figures go if the command line does not say."""
        return Path("figures") / self.name if self.run is None else self.run.path / "figures"

    @cached_property
    def model(self) -> OwnModel | ForeignModel:
        return open_model(self.word)

    @cached_property
    def network(self) -> nn.Module:
        network = self.model.module if isinstance(self.model, OwnModel) else self.model.original
        return network.to(self.choices.device)

    @cached_property
    def data(self) -> Dataset:
        return load_images(self.model, self.choices.data, self.choices.data_dir)

    @property
    def stack(self) -> Plain | Hierarchical:
        """How the layers of one of our models are put together."""
        if not isinstance(self.model, OwnModel):
            raise LeftOut("diagrams are drawn of headgrid's own models")
        stack = getattr(self.model.module.config, "stack", None)
        if stack is None:
            raise LeftOut("it has no stack of attention layers")
        return stack

    def centers(self) -> dict[int, dict[str, HeadCenters]]:
        """By epoch, 0 before the training, and by the layers' names in figures."""
        rows = {row["epoch"]: centers_of_row(row) for row in ([] if self.run is None else self.run.centers())}
        if not any(rows.values()):
            raise LeftOut("only runs of models with quadratic scores have head centres over the epochs")
        return {epoch: self.named(layers) for epoch, layers in rows.items()}

    def last_centers(self) -> dict[str, HeadCenters]:
        """Those of the weights that validation chose, by the layers' names in figures."""
        layers = head_centers(self.network)
        if not layers:
            raise LeftOut("only quadratic scores have head centres")
        return self.named(
            {name: HeadCenters(of.centers.cpu(), of.inverse_covariances.cpu()) for name, of in layers.items()}
        )

    def named(self, layers: dict[str, Of]) -> dict[str, Of]:
        """By the layers' names in figures. Layers that pruning has left without heads are missing, but count."""
        if isinstance(self.stack, Hierarchical) and isinstance(self.stack.weights, SharedWeights):
            (heads,) = layers.values()
            return {"all layers": heads}
        numbers = {name: int(re.findall(r"\d+", name)[-1]) for name in layers}
        return {f"layer {numbers[name] + 1}": heads for name, heads in layers.items()}

    @cached_property
    def examples(self) -> list[Example]:
        words = self.choices.images or spread_over(self.data, NUM_GRID_IMAGES)
        examples = [self._example(word) for word in words]
        names = [example.name for example in examples]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"--images names {name} twice, and figures are named after their images")
        return examples

    @property
    def shown(self) -> list[Example]:
        """The images that get figures of their own."""
        return self.examples if self.choices.images else self.examples[:1]

    def _example(self, word: str) -> Example:
        if word.isdigit():
            return example_of_data(self.data, int(word))
        path = Path(word).expanduser()
        if not path.is_file():
            raise ValueError(f"--images {word}: expected the number of an image of the data, or an image file")
        return example_of_file(path, *self._size_and_normalization(word))

    def _size_and_normalization(self, word: str) -> tuple[tuple[int, int], Normalization]:
        model = self.model
        if isinstance(model, OwnModel) or self.choices.data is not None:
            return self.data.image_size, self.data.normalization
        if model.image_size is None or model.normalization is None:
            raise ValueError(
                f"{model.name} does not say which images it takes, so {word} cannot be prepared for it: name "
                f"images like those that it was trained on with --data"
            )
        return model.image_size, model.normalization

    def views(self, example: Example) -> list[LayerView]:
        """The attention of each layer on an image."""
        if isinstance(self.network, ResNet):
            raise LeftOut("it is a ResNet, which has no attention")
        if example.name not in self._views:
            images, query = example.images.to(self.choices.device), self.query(example)
            try:
                self._views[example.name] = views_of(self.network, images, query)
            except ValueError as error:
                raise LeftOut(str(error)) from error
        return self._views[example.name]

    def layer_maps(
        self, view: LayerView, maps: Float[ndarray, "n y x"], query: tuple[int, int] | None = None
    ) -> LayerMaps:
        """Maps of a layer as they are shown, with its heads in their order or in that of their similarity."""
        if not self.choices.sort_heads:
            return LayerMaps(view.name, maps, query)
        order = head_order(maps)
        return LayerMaps(view.name, maps[list(order)], query, order)

    def query(self, example: Example) -> tuple[int, int]:
        """On the image."""
        rows, columns = example.images.shape[2:]
        row, column = (rows // 2, columns // 2) if self.choices.query is None else self.choices.query
        if not (0 <= row < rows and 0 <= column < columns):
            raise ValueError(f"--query {row} {column}: the images have {rows} x {columns} pixels, counted from 0")
        return row, column

    def chosen_layer(self, num_layers: int, default: int) -> int:
        """The number, from 0, of the layer that a figure of one layer shows."""
        if self.choices.layer is None:
            return min(default, num_layers - 1)
        if not 1 <= self.choices.layer <= num_layers:
            raise ValueError(f"--layer {self.choices.layer}: {self.word} has the layers 1 to {num_layers}")
        return self.choices.layer - 1

    @cached_property
    def measures(self) -> AttentionMeasures:
        """What the heads do on the images that means are taken over."""
        return measure_attention(self.network, self.batches("measuring heads"))

    @property
    def num_images(self) -> int:
        """Images that means are taken over."""
        return min(self.choices.num_images, self.data.num_images[final_split(self.data)])

    def batches(self, title: str, batch_size: int = 4) -> Iterator[Tensor]:
        """The first images of the data, for means."""
        left = self.num_images
        with progress(title, left) as advance:
            for images, _ in self.data.evaluation_batches(final_split(self.data), batch_size).epoch(0):
                batch = images[:left].to(self.choices.device)
                yield batch
                left -= len(batch)
                advance(len(batch))
                if left <= 0:
                    return
