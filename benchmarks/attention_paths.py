"""How long each way to apply attention takes, side by side: forward, and forward with backward.

Position scores (a row term plus a column term) can take every path; content scores with a relative position
the explicit one, the fused one, and the map that is written once. The paths take turns in one process and the
best time of each counts, so that other work on the machine disturbs all of them alike. With one thread the clock
is the processor's, which stands still while other processes run.

    python benchmarks/attention_paths.py
    python benchmarks/attention_paths.py --shapes 100,16,16,400,9 --precision bfloat16 --json
"""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

import torch
import tyro
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import Tensor

from headgrid.cli.output import console_for_tables
from headgrid.ops import (
    apply_attention,
    attention_weights,
    fused_attention,
    map_attention,
    separable_attention,
    shared_attention,
)

Precision = Literal["float32", "bfloat16"]
Path = Callable[..., Tensor]
DEFAULT_SHAPES = (
    "4,16,16,400,9",  # the paper's layers
    "10,16,16,96,9",
    "25,8,8,96,9",
    "1,32,40,64,16",
)


@dataclass(frozen=True)
class Timing:
    """The best seconds of one path on one shape."""

    score: str
    path: str
    batch: int
    height: int
    width: int
    channels: int
    num_heads: int
    precision: str
    forward: float
    forward_and_backward: float


def explicit(
    values: Tensor,
    query: Tensor | None = None,
    key: Tensor | None = None,
    rows: Tensor | None = None,
    columns: Tensor | None = None,
) -> Tensor:
    weights = attention_weights(query, key, rows, columns)
    return apply_attention(weights.expand(len(values), -1, -1, -1, -1, -1), values)


def shared(values: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    return shared_attention(attention_weights(rows=rows, columns=columns)[0], values)


def separable(values: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    return separable_attention(rows[0, :, :, 0], columns[0, :, 0], values)


def separable_einsum(values: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """All heads at once: what `separable_attention` does one head at a time."""
    row_weights, column_weights = torch.softmax(rows[0, :, :, 0], -1), torch.softmax(columns[0, :, 0], -1)
    mixed = torch.einsum("nwx,byxd->bynwd", column_weights.to(values.dtype), values)
    return torch.einsum("nhy,bynwd->bhwnd", row_weights.to(values.dtype), mixed)


POSITION_PATHS: dict[str, Path] = {
    "separable": separable,
    "separable, one einsum": separable_einsum,
    "shared": shared,
    "fused": fused_attention,
    "explicit": explicit,
}
CONTENT_PATHS: dict[str, Path] = {"fused": fused_attention, "map": map_attention, "explicit": explicit}


def clock() -> float:
    return time.process_time() if torch.get_num_threads() == 1 else time.perf_counter()


def forward_seconds(path: Path, arguments: dict[str, Tensor]) -> float:
    with torch.no_grad():
        start = clock()
        _heads_side_by_side(path(**arguments))
        return clock() - start


def training_seconds(path: Path, arguments: dict[str, Tensor]) -> float:
    start = clock()
    output = _heads_side_by_side(path(**arguments))
    torch.autograd.grad(output, list(arguments.values()), torch.ones_like(output))
    return clock() - start


def _heads_side_by_side(heads: Tensor) -> Tensor:
    # What the mixing of heads does next; without it a path could leave its work to a later copy.
    return heads.flatten(-2).contiguous()


def compare(
    paths: dict[str, Path], arguments: dict[str, Tensor], repetitions: int
) -> dict[str, tuple[float, float]]:
    """The best forward and training time of each path; all paths take part in every repetition."""
    reference = explicit(**arguments)
    for name, path in paths.items():
        if not torch.allclose(path(**arguments), reference, atol=0.05, rtol=0.05):
            raise ValueError(f"the path {name} does not agree with the explicit one: its time means nothing")
    best = dict.fromkeys(paths, (float("inf"), float("inf")))
    for _ in range(repetitions):
        for name, path in paths.items():
            forward, training = best[name]
            best[name] = (
                min(forward, forward_seconds(path, arguments)),
                min(training, training_seconds(path, arguments)),
            )
    return best


def parse_shape(text: str) -> tuple[int, int, int, int, int]:
    sizes = text.split(",")
    if len(sizes) != 5 or not all(size.isdecimal() and int(size) > 0 for size in sizes):
        raise ValueError(f"a shape is BATCH,HEIGHT,WIDTH,CHANNELS,HEADS, such as 8,16,16,400,9; got {text!r}")
    batch, height, width, channels, num_heads = map(int, sizes)
    return batch, height, width, channels, num_heads


def measure(shape: str, precision: Precision, repetitions: int) -> list[Timing]:
    batch, height, width, channels, num_heads = parse_shape(shape)
    dtype = getattr(torch, precision)

    def random(*size: int) -> Tensor:
        return torch.randn(size, dtype=dtype, requires_grad=True)

    position = {
        "values": random(batch, height, width, channels),
        "rows": random(1, num_heads, height, 1, height),
        "columns": random(1, num_heads, 1, width, width),
    }
    content = {
        "values": random(batch, height, width, channels),
        "query": random(batch, num_heads, height, width, channels),
        "key": random(batch, num_heads, height, width, channels),
        "rows": random(batch, num_heads, height, width, height),
        "columns": random(batch, num_heads, height, width, width),
    }
    with torch.no_grad():
        content["query"] /= channels  # scores near one, as in a trained network
    return [
        Timing(score, path, batch, height, width, channels, num_heads, precision, *seconds)
        for score, paths, arguments in (
            ("position", POSITION_PATHS, position),
            ("content", CONTENT_PATHS, content),
        )
        for path, seconds in compare(paths, arguments, repetitions).items()
    ]


def print_table(timings: list[Timing]) -> None:
    table = Table("score", "b, h, w, c, heads", "precision", "path", "forward", "ratio", "with backward", "ratio")
    first = timings[0]
    for timing in timings:
        if timing.path == "separable" or (timing.score == "content" and timing.path == "fused"):
            first = timing
            table.add_section()
        sizes = (timing.batch, timing.height, timing.width, timing.channels, timing.num_heads)
        table.add_row(
            timing.score,
            ", ".join(map(str, sizes)),
            timing.precision,
            timing.path,
            f"{timing.forward * 1e3:.2f} ms",
            f"{timing.forward / first.forward:.2f}",
            f"{timing.forward_and_backward * 1e3:.2f} ms",
            f"{timing.forward_and_backward / first.forward_and_backward:.2f}",
        )
    console_for_tables().print(table)


def main(
    shapes: tuple[str, ...] = DEFAULT_SHAPES,
    precision: tuple[Precision, ...] = ("float32", "bfloat16"),
    repetitions: int = 5,
    threads: int = 1,
    as_json: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Times the paths of attention side by side.

    Args:
        shapes: Shapes to measure, each BATCH,HEIGHT,WIDTH,CHANNELS,HEADS.
        precision: Number formats to measure.
        repetitions: How often each path runs; the best time counts.
        threads: Threads of PyTorch.
        as_json: Print JSON and nothing else.
    """
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    cases: list[tuple[str, Precision]] = [(shape, kind) for shape in shapes for kind in precision]
    timings: list[Timing] = []
    for shape, kind in track(cases, "measuring", console=Console(stderr=True), disable=as_json):
        timings += measure(shape, kind, repetitions)
    if as_json:
        print(json.dumps([asdict(timing) for timing in timings], indent=2))
    else:
        print_table(timings)


if __name__ == "__main__":
    tyro.cli(main)
