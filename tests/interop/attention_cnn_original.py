"""The network of attention-cnn pixel by pixel in numpy: slow, and written from its formulas alone.

Nothing here is shared with the library. The names and shapes of the weights are the original's, rows stand before
columns, and shifts are key - query.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy import ndarray

KINDS = (
    "quadratic",
    "quadratic_generalized",
    "learned",
    "learned_query",
    "learned_content",
    "learned_keys_content",
)


@dataclass(frozen=True)
class Original:
    """What kind of network it is, and its sizes."""

    kind: str
    heads: tuple[int, ...] = (3, 2)
    hidden: int = 6
    intermediate: int = 5
    cell: int = 2
    positions: int = 5
    position_size: int = -1
    activation: str = "gelu"
    epsilon: float = 1e-12
    num_classes: int = 4

    @property
    def with_query(self) -> bool:
        return self.kind in ("learned_query", "learned_content")

    @property
    def with_content(self) -> bool:
        return self.kind in ("learned_content", "learned_keys_content")

    @property
    def table_width(self) -> int:
        if self.position_size != -1:
            return self.position_size
        return self.hidden // 2 if self.with_query else self.hidden

    @property
    def config(self) -> dict[str, Any]:
        """The original's config, as `config.yaml` has it."""
        quadratic = self.kind.startswith("quadratic")
        return {
            "dataset": "Cifar10",
            "model": "bert",
            "load_checkpoint_file": None,
            "optimizer_decay_at_epochs": [80, 150, 250],
            "optimizer_learning_rate": 0.1,
            "seed": 42,
            "hidden_size": self.hidden,
            "position_encoding_size": self.position_size,
            "num_hidden_layers": len(self.heads),
            "num_attention_heads": max(self.heads),
            "intermediate_size": self.intermediate,
            "hidden_act": self.activation,
            "hidden_dropout_prob": 0.1,
            "attention_probs_dropout_prob": 0.1,
            "max_position_embeddings": self.positions,
            "layer_norm_eps": self.epsilon,
            "add_positional_encoding_to_input": False,
            "use_learned_2d_encoding": not quadratic,
            "share_position_encoding": False,
            "use_attention_data": self.with_content,
            "query_positional_score": self.with_query,
            "use_gaussian_attention": quadratic,
            "attention_isotropic_gaussian": self.kind == "quadratic",
            "attention_gaussian_blur_trick": False,
            "pooling_concatenate_size": self.cell,
            "pooling_use_resnet": False,
        }

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The state dict: names and shapes."""
        shapes: dict[str, tuple[int, ...]] = {"attention_mask": ()}
        linear(shapes, "features_upscale", 3 * self.cell**2, self.hidden)
        linear(shapes, "classifier", self.hidden, self.num_classes)
        for layer, heads in enumerate(self.heads):
            name = f"encoder.layer.{layer}"
            own = f"{name}.attention.self"
            linear(shapes, f"{own}.value", heads * self.hidden, self.hidden)
            linear(shapes, f"{name}.attention.output.dense", self.hidden, self.hidden)
            linear(shapes, f"{name}.intermediate.dense", self.hidden, self.intermediate)
            linear(shapes, f"{name}.output.dense", self.intermediate, self.hidden)
            for norm in (f"{name}.attention.output.LayerNorm", f"{name}.output.LayerNorm"):
                shapes[f"{norm}.weight"] = shapes[f"{norm}.bias"] = (self.hidden,)
            if self.kind.startswith("quadratic"):
                shapes[f"{own}.attention_centers"] = (heads, 2)
                shapes[f"{own}.attention_spreads"] = (heads,) if self.kind == "quadratic" else (heads, 2, 2)
                shapes[f"{own}.R"] = (3, 3, 3, 3, 5)
                continue
            shapes[f"{own}.relative_indices"] = (self.positions, self.positions)
            for axis in ("row", "col"):
                shapes[f"{own}.{axis}_embeddings.weight"] = (2 * self.positions - 1, self.table_width)
                if not self.with_query:
                    shapes[f"{own}.head_keys_{axis}.weight"] = (heads, self.table_width)
            if self.with_query or self.with_content:
                linear(shapes, f"{own}.query", self.hidden, heads * self.hidden)
            if self.with_content:
                linear(shapes, f"{own}.key", self.hidden, heads * self.hidden)
        return shapes

    def random_state(self, seed: int = 0) -> dict[str, torch.Tensor]:
        generator = torch.Generator().manual_seed(seed)
        return {
            name: torch.randn(shape, generator=generator, dtype=torch.float64)
            for name, shape in self.shapes().items()
        }

    def random_images(self, rows: int, columns: int, seed: int = 0, batch: int = 2) -> torch.Tensor:
        """Images whose map has ``rows`` x ``columns`` cells."""
        generator = torch.Generator().manual_seed(1000 + seed)
        shape = (batch, 3, rows * self.cell, columns * self.cell)
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def run(
        self, state: dict[str, torch.Tensor], images: torch.Tensor, tanh_gelu: bool = False
    ) -> tuple[ndarray, list[ndarray]]:
        """Logits, and each layer's attention with the axes (image, head, query row, column, key row, column)."""
        weights = {name: value.numpy() for name, value in state.items()}
        logits, maps = [], []
        for image in images.numpy():
            pixels = apply(weights, "features_upscale", concatenate(image, self.cell))
            of_image = []
            for layer, heads in enumerate(self.heads):
                name = f"encoder.layer.{layer}"
                attention = self._attention(weights, f"{name}.attention.self", heads, pixels)
                of_image.append(attention)
                mixed = apply_heads(weights, f"{name}.attention.self.value", attention, pixels)
                mixed = apply(weights, f"{name}.attention.output.dense", mixed)
                pixels = norm(weights, f"{name}.attention.output.LayerNorm", mixed + pixels, self.epsilon)
                inner = apply(weights, f"{name}.intermediate.dense", pixels)
                inner = np.vectorize(activation(self.activation, tanh_gelu))(inner)
                inner = apply(weights, f"{name}.output.dense", inner)
                pixels = norm(weights, f"{name}.output.LayerNorm", inner + pixels, self.epsilon)
            logits.append(apply(weights, "classifier", pixels.mean(axis=(0, 1))))
            maps.append(of_image)
        return np.stack(logits), [np.stack(layer) for layer in zip(*maps, strict=True)]

    def _attention(self, weights: dict[str, ndarray], name: str, heads: int, pixels: ndarray) -> ndarray:
        rows, columns, _ = pixels.shape
        attention = np.zeros((heads, rows, columns, rows, columns))
        for head in range(heads):
            for h, w in np.ndindex(rows, columns):
                for y, x in np.ndindex(rows, columns):
                    score = self._score(weights, name, head, pixels[h, w], pixels[y, x], y - h, x - w)
                    attention[head, h, w, y, x] = score
                scores = attention[head, h, w]
                exponentials = np.exp(scores - scores.max())
                attention[head, h, w] = exponentials / exponentials.sum()
        return attention

    def _score(
        self, weights: dict[str, ndarray], name: str, head: int, query: ndarray, key: ndarray, down: int, right: int
    ) -> float:
        """Of one head, for one pair of pixels whose shift is (down, right)."""
        if self.kind.startswith("quadratic"):
            distance = np.array([down, right]) - weights[f"{name}.attention_centers"][head]
            spread = weights[f"{name}.attention_spreads"][head]
            if self.kind == "quadratic":
                return -0.5 * spread**2 * (distance @ distance)
            return -0.5 * distance @ (spread @ spread.T) @ distance

        first_table = weights[f"{name}.row_embeddings.weight"]
        second_table = weights[f"{name}.col_embeddings.weight"]
        zero = self.positions - 1
        own = slice(head * self.hidden, (head + 1) * self.hidden)
        projected = {
            part: apply(weights, f"{name}.{part}", value)[own]
            for part, value in (("query", query), ("key", key))
            if f"{name}.{part}.weight" in weights
        }
        if self.with_query:
            half = self.hidden // 2
            score = projected["query"][:half] @ first_table[zero + down]
            score += projected["query"][half:] @ second_table[zero + right]
            score /= math.sqrt(self.hidden)
        else:
            score = weights[f"{name}.head_keys_row.weight"][head] @ first_table[zero + right]
            score += weights[f"{name}.head_keys_col.weight"][head] @ second_table[zero + down]
        if self.with_content:
            score += projected["query"] @ projected["key"] / math.sqrt(self.hidden)
        return score


def linear(shapes: dict[str, tuple[int, ...]], name: str, inputs: int, outputs: int) -> None:
    shapes[f"{name}.weight"] = (outputs, inputs)
    shapes[f"{name}.bias"] = (outputs,)


def apply(weights: dict[str, ndarray], name: str, values: ndarray) -> ndarray:
    return values @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def concatenate(image: ndarray, cell: int) -> ndarray:
    """Pixels of a cell side by side: row in the cell, then column in the cell, then colour."""
    _, height, width = image.shape
    cells = np.zeros((height // cell, width // cell, 3 * cell**2))
    for row, column in np.ndindex(height // cell, width // cell):
        values = [
            image[colour, row * cell + i, column * cell + j]
            for i in range(cell)
            for j in range(cell)
            for colour in range(3)
        ]
        cells[row, column] = values
    return cells


def apply_heads(weights: dict[str, ndarray], name: str, attention: ndarray, pixels: ndarray) -> ndarray:
    output = np.zeros_like(pixels)
    for h, w in np.ndindex(pixels.shape[:2]):
        averages = [(head[h, w][:, :, None] * pixels).sum(axis=(0, 1)) for head in attention]
        output[h, w] = apply(weights, name, np.concatenate(averages))
    return output


def norm(weights: dict[str, ndarray], name: str, values: ndarray, epsilon: float) -> ndarray:
    centered = values - values.mean(axis=-1, keepdims=True)
    variance = (centered**2).mean(axis=-1, keepdims=True)
    return weights[f"{name}.weight"] * centered / np.sqrt(variance + epsilon) + weights[f"{name}.bias"]


def activation(name: str, tanh_gelu: bool):
    if name == "relu":
        return lambda x: max(x, 0.0)
    if name == "swish":
        return lambda x: x / (1 + math.exp(-x))
    if tanh_gelu:
        return lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2)))
