"""What a module costs: parameters, multiply-adds, seconds, measured on given inputs; and how reports print it."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median

import torch
from rich.table import Table
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

NUM_TIMED_RUNS = 5


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Every module in eval mode; afterwards each is again in the mode that it was in."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


def num_parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@torch.no_grad()
def multiply_adds(run: Callable[[], object]) -> int:
    """Multiplications that are followed by an addition, in all matrix products and convolutions of a call."""
    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops() // 2


@torch.no_grad()
def median_seconds(run: Callable[[], object], device: torch.device) -> float:
    """The median time of a call, after one that does not count."""
    run()
    times = []
    for _ in range(NUM_TIMED_RUNS):
        _wait(device)
        start = time.perf_counter()
        run()
        _wait(device)
        times.append(time.perf_counter() - start)
    return median(times)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def tensors_of(output: object) -> list[Tensor]:
    """All tensors of a module's output, whatever tuples, lists and dicts they stand in."""
    if isinstance(output, Tensor):
        return [output]
    if isinstance(output, dict):
        output = list(output.values())
    if isinstance(output, tuple | list):
        return [tensor for part in output for tensor in tensors_of(part)]
    return []


def count(number: int) -> str:
    """A large number with three digits: 1.82 G, 56.6 M."""
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.3g} {letter}"
    return str(number)


def rich_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(*columns)
    for row in rows:
        table.add_row(*row)
    return table
