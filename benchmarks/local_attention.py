"""Local attention against the plain `F.unfold` formulation: time and peak memory, forward, and with backward.

All ways take turns in one process and the best time of each counts, so that other work on the machine disturbs all
of them alike. With one thread the clock is the processor's, which stands still while other processes run. Memory is
what torch allocates on top of the operands, gradients included.

    python benchmarks/local_attention.py                                  # the aggregation operator, weights given
    python benchmarks/local_attention.py --footprints 3 5 7 9 11
    python benchmarks/local_attention.py --layers                         # whole attention layers
    python benchmarks/local_attention.py --compile --shapes 4,56,56,64,8  # also what torch.compile makes of it

Goals at footprint 7: forward at least 8 times faster than eager `F.unfold`, forward and backward at least 4 times,
peak memory at most a fifth.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, NamedTuple

import torch
import torch.nn.functional as F
import tyro
from einops import rearrange
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import Tensor

from headgrid.attention import PairwiseAttentionConfig, PatchwiseAttentionConfig
from headgrid.cli.errors import guarded
from headgrid.cli.output import console_for_tables
from headgrid.ops import Footprint, explicit_vector_aggregation, neighbours, vector_aggregation

DEFAULT_SHAPES = ("4,56,56,64,8", "4,28,28,128,16", "8,14,14,256,32")


class Way(NamedTuple):
    """One way to compute something: a function, and its operands in the layout that suits it."""

    function: Callable[..., Tensor]
    operands: tuple[Tensor, ...]


@dataclass(frozen=True)
class Cost:
    """Best seconds, and megabytes, of one way on one shape."""

    what: str
    way: str
    shape: str
    footprint: int
    forward: float
    forward_and_backward: float
    megabytes: float


def unfold(values: Tensor, weights: Tensor, footprint: Footprint) -> Tensor:
    """As one writes it: values (b, c, h, w), weights (b, g, k, h * w)."""
    reach, groups = footprint.reach, weights.shape[1]
    copies = F.unfold(F.pad(values, (reach,) * 4, mode="reflect"), footprint.size)
    copies = copies.view(len(values), -1, groups, *weights.shape[2:])
    return (weights[:, None] * copies).sum(3).view_as(values)


def sum_of_shifts(values: Tensor, weights: Tensor, footprint: Footprint) -> Tensor:
    """A sum of products with nothing in place, for a compiler to fuse."""
    groups = weights.shape[-1]
    copies = neighbours(values, footprint).unflatten(-1, (-1, groups))
    products = (weight[..., None, :] * copy for weight, copy in zip(weights, copies, strict=True))
    return sum(products, torch.zeros(())).flatten(-2)


def official_layout(values: Tensor, weights: Tensor, footprint: Footprint) -> Tensor:
    """Ours, called with the operands of `unfold`: what turning them costs, too."""
    weights = weights.unflatten(-1, values.shape[2:]).permute(2, 0, 3, 4, 1)
    return vector_aggregation(values.movedim(1, -1), weights, footprint).movedim(-1, 1)


def aggregations(shape: str, footprint: Footprint, compiled: bool) -> dict[str, Way]:
    batch, height, width, channels, groups = parse_shape(shape)
    values = torch.randn(batch, channels, height, width)
    weights = torch.randn(batch, groups, footprint.num_positions, height * width).softmax(2)
    last = values.movedim(1, -1).contiguous()
    first = rearrange(weights, "b g k (h w) -> k b h w g", h=height).contiguous()
    ways = {
        "unfold": (unfold, (values, weights)),
        "shifts": (vector_aggregation, (last, first)),
        "shifts, turned": (official_layout, (values, weights)),
        "explicit": (explicit_vector_aggregation, (last, first)),
    }
    if compiled:
        ways |= {
            "unfold, compiled": (torch.compile(unfold), (values, weights)),
            "sum of shifts, compiled": (torch.compile(sum_of_shifts), (last, first)),
        }
    return {
        name: Way(
            lambda *operands, function=function: function(*operands, footprint),
            tuple(operand.clone().requires_grad_() for operand in operands),
        )
        for name, (function, operands) in ways.items()
    }


def layers(shape: str, footprint: Footprint) -> dict[str, dict[str, Way]]:
    """The attention layers of a SAN block, in training: values as wide as the shape says, pixels four times."""
    batch, height, width, channels, groups = parse_shape(shape)
    pixels = torch.randn(batch, height, width, 4 * channels)
    made = {}
    for name, kind in (("pairwise", PairwiseAttentionConfig), ("patchwise", PatchwiseAttentionConfig)):
        layer = kind(footprint, sharing=channels // groups).build(4 * channels, channels // 4, channels)
        operands = (pixels.clone().requires_grad_(), *layer.parameters())
        made[name] = {
            "written out": Way(lambda pixels, *_, layer=layer: layer(pixels, record=True).values, operands),
            "fast": Way(lambda pixels, *_, layer=layer: layer(pixels).values, operands),
        }
    return made


def clock() -> float:
    return time.process_time() if torch.get_num_threads() == 1 else time.perf_counter()


def forward(way: Way) -> float:
    with torch.no_grad():
        start = clock()
        way.function(*way.operands)
        return clock() - start


def train(way: Way) -> float:
    seen = torch.ones_like(way.function(*way.operands).detach())
    start = clock()
    torch.autograd.grad(way.function(*way.operands), way.operands, seen)
    return clock() - start


def peak_megabytes(way: Way) -> float:
    with torch.profiler.profile(profile_memory=True) as profile:
        train(way)
    assert profile.profiler is not None
    events = [event for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = largest = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        largest = max(largest, held)
    return largest / 2**20


def compare(what: str, shape: str, footprint: Footprint, ways: dict[str, Way], repetitions: int) -> list[Cost]:
    """The cost of each way; all ways take part in every repetition."""
    best = dict.fromkeys(ways, (float("inf"), float("inf")))
    for _ in range(repetitions):
        for name, way in ways.items():
            best[name] = min(best[name][0], forward(way)), min(best[name][1], train(way))
    return [Cost(what, name, shape, footprint.size, *best[name], peak_megabytes(way)) for name, way in ways.items()]


def check(ways: dict[str, Way]) -> None:
    """A way that computes something else would win for nothing."""
    results = {name: way.function(*way.operands).detach() for name, way in ways.items()}
    expected = results["unfold"]
    for name, result in results.items():
        result = result if way_is_channels_first(name) else result.movedim(-1, 1)
        if not torch.allclose(result, expected, atol=1e-4):
            raise ValueError(f"{name} does not agree with F.unfold: its time means nothing")


def way_is_channels_first(name: str) -> bool:
    return name.startswith("unfold") or name == "shifts, turned"


def parse_shape(text: str) -> tuple[int, int, int, int, int]:
    sizes = text.split(",")
    if len(sizes) != 5 or not all(size.isdecimal() and int(size) > 0 for size in sizes):
        raise ValueError(f"a shape is BATCH,HEIGHT,WIDTH,CHANNELS,GROUPS, such as 4,56,56,64,8; got {text!r}")
    batch, height, width, channels, groups = map(int, sizes)
    if channels % groups:
        raise ValueError(f"{channels} channels cannot share the weights of {groups} groups evenly: got {text!r}")
    return batch, height, width, channels, groups


def print_table(costs: list[Cost]) -> None:
    table = Table("operator", "shape", "footprint", "way")
    for name in ("forward ms", "", "with backward ms", "", "peak MB", ""):
        table.add_column(name, justify="right")
    first: Cost | None = None
    for cost in costs:
        if first is None or (cost.what, cost.shape, cost.footprint) != (first.what, first.shape, first.footprint):
            first = cost
            table.add_section()
        table.add_row(
            cost.what,
            cost.shape,
            str(cost.footprint),
            cost.way,
            *(f"{1e3 * cost.forward:.2f}", f"{first.forward / cost.forward:.1f}x"),
            *(
                f"{1e3 * cost.forward_and_backward:.2f}",
                f"{first.forward_and_backward / cost.forward_and_backward:.1f}x",
            ),
            *(f"{cost.megabytes:.1f}", f"1/{first.megabytes / cost.megabytes:.1f}"),
        )
    console = console_for_tables()
    console.print(table)
    console.print("goals of the aggregation at footprint 7: 8x, 4x, 1/5")


def main(
    shapes: tuple[str, ...] = DEFAULT_SHAPES,
    footprints: tuple[int, ...] = (7,),
    layers_too: Annotated[bool, tyro.conf.arg(name="layers")] = False,
    compile: bool = False,
    threads: int = 1,
    repetitions: int = 7,
    as_json: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Measure local attention.

    Args:
        shapes: BATCH,HEIGHT,WIDTH,CHANNELS,GROUPS of the values; channels of a group share their weights.
        footprints: Sides of the footprints.
        layers_too: Measure whole pairwise and patchwise layers as well.
        compile: Let torch.compile take part; its first calls take minutes.
        threads: Threads of torch.
        repetitions: Turns of each way; the best counts.
        as_json: Print the costs as JSON.
    """
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    costs = []
    settings = [(shape, Footprint(size)) for size in footprints for shape in shapes]
    for shape, footprint in track(settings, "measuring", console=Console(stderr=True), transient=True):
        ways = aggregations(shape, footprint, compile)
        check(ways)
        costs += compare("aggregation", shape, footprint, ways, repetitions)
        if layers_too:
            for what, others in layers(shape, footprint).items():
                costs += compare(what, shape, footprint, others, repetitions)
    if as_json:
        print(json.dumps([asdict(cost) for cost in costs], indent=1))
    else:
        print_table(costs)


def command() -> int:
    tyro.cli(main)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(command))
