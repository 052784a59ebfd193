"""What hierarchical attention costs beside the plain stack: time and memory, all combinations of its ingredients.

    python benchmarks/hierarchical_attention.py
    python benchmarks/hierarchical_attention.py learned-content --size paper --batch 10 --precision float32

For each model: plain, one block on the first key (hierarchical), shared weights with own keys, own weights with the
first key. The four take turns in one process and the best time of each counts, so that other work on the machine
disturbs all of them alike; with one thread the clock is the processor's. Time is that of a training step (forward,
backward, update) and of one image in eval mode. Memory is counted, not sampled: weights with their gradients and
momentum, and the tensors that the forward pass keeps for the backward pass.
"""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated

import torch
import torch.nn.functional as F
import tyro
from rich.console import Console
from rich.progress import track
from torch import Tensor, nn

from headgrid.cli.output import print_table
from headgrid.evaluation.accuracy import Precision, autocast
from headgrid.experiments import Experiment, Size, hierarchical, initial_model, make_experiment
from headgrid.experiments.sizes import SIZES
from headgrid.study.hierarchical_attention import COMBINATIONS

MODELS = (
    "learned-content",
    "report-san-pairwise-hierarchical-corrected",
    "report-san-patchwise-hierarchical-corrected",
    "report-vit-corrected",
)


@dataclass(frozen=True)
class Cost:
    """One model in one combination."""

    preset: str
    combination: str
    num_parameters: int
    weight_bytes: int
    """Weights, gradients and momentum."""
    kept_bytes: int
    """What the forward pass of a training batch keeps for the backward pass, weights excepted."""
    training_seconds: float
    inference_seconds: float
    """One image."""


class Candidate:
    """A model ready to be timed."""

    def __init__(self, experiment: Experiment, batch: int, precision: Precision) -> None:
        self.model = initial_model(experiment)
        self.precision: Precision = precision
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3, momentum=0.9)
        height, width = experiment.model.image_size
        self.images = torch.randn(batch, experiment.model.num_channels, height, width)
        self.labels = torch.randint(experiment.model.num_classes, (batch,))
        self.best_training = self.best_inference = float("inf")

    def loss(self) -> Tensor:
        with autocast(torch.device("cpu"), self.precision):
            return F.cross_entropy(self.model(self.images).float(), self.labels)

    def train(self) -> None:
        self.optimizer.zero_grad()
        self.loss().backward()
        self.optimizer.step()

    def infer(self) -> None:
        with torch.no_grad(), autocast(torch.device("cpu"), self.precision):
            self.model(self.images[:1])

    def time(self, inferences: int) -> None:
        self.model.train()
        self.best_training = min(self.best_training, seconds(self.train))
        self.model.eval()
        self.best_inference = min(self.best_inference, *(seconds(self.infer) for _ in range(inferences)))

    def kept_bytes(self) -> int:
        """Each storage counts once, however many tensors look at it."""
        weights = {parameter.untyped_storage().data_ptr() for parameter in self.model.parameters()}
        kept: dict[int, Tensor] = {}  # the tensors stay alive here, so that no address is used twice

        def keep(tensor: Tensor) -> Tensor:
            if (address := tensor.untyped_storage().data_ptr()) not in weights:
                kept[address] = tensor
            return tensor

        self.model.train()
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            loss = self.loss()
        total = sum(tensor.untyped_storage().nbytes() for tensor in kept.values())
        del loss
        return total


def seconds(action: Callable[[], None]) -> float:
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    start = clock()
    action()
    return clock() - start


def variants(preset: str, size: Size) -> dict[str, Experiment]:
    base = make_experiment(preset)
    return {
        name: SIZES[size](hierarchical(base, weights=weights, key=key))
        for name, (weights, key) in COMBINATIONS.items()
    }


def measure(preset: str, size: Size, batch: int, precision: Precision, repetitions: int) -> list[Cost]:
    candidates = {name: Candidate(e, batch, precision) for name, e in variants(preset, size).items()}
    memory = {name: candidate.kept_bytes() for name, candidate in candidates.items()}
    for candidate in candidates.values():  # warm up
        candidate.train()
        candidate.infer()
    for _ in range(repetitions):
        for candidate in candidates.values():
            candidate.time(inferences=10)
    return [
        Cost(
            preset,
            name,
            num_parameters(candidate.model),
            3 * sum(parameter.nbytes for parameter in candidate.model.parameters()),
            memory[name],
            candidate.best_training,
            candidate.best_inference,
        )
        for name, candidate in candidates.items()
    ]


def num_parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def rows(costs: list[Cost]) -> list[tuple[str, ...]]:
    plain = {cost.preset: cost for cost in costs if cost.combination == "plain"}
    return [
        (
            cost.preset,
            cost.combination,
            f"{cost.num_parameters:,}",
            f"{cost.weight_bytes / 1e6:.1f}",
            f"{cost.kept_bytes / 1e6:.1f}",
            f"{1e3 * cost.training_seconds:.1f}",
            f"{cost.training_seconds / plain[cost.preset].training_seconds:.2f}",
            f"{1e3 * cost.inference_seconds:.2f}",
            f"{cost.inference_seconds / plain[cost.preset].inference_seconds:.2f}",
        )
        for cost in costs
    ]


COLUMNS = (
    "preset", "combination", "parameters", "weights MB", "kept MB", "step ms", "ratio", "image ms", "ratio",
)  # fmt: skip
NOTE = "Weights: with gradients and momentum. Kept: for the backward pass of a batch. Ratios: to plain."


def main(
    presets: tyro.conf.Positional[tuple[str, ...]] = MODELS,
    size: Size = "laptop",
    batch: int = 40,
    precision: Precision = "float32",
    repetitions: int = 5,
    threads: int = 1,
    as_json: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Times hierarchical attention and counts its memory, beside the plain stack.

    Args:
        presets: Presets with attention.
        size: Size of the presets.
        batch: Images of a training step.
        precision: What matrix products are computed in.
        repetitions: How often each combination runs; the best time counts.
        threads: Threads of PyTorch.
        as_json: Print JSON and nothing else.
    """
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    costs: list[Cost] = []
    for preset in track(presets, "measuring", console=Console(stderr=True), disable=as_json):
        costs += measure(preset, size, batch, precision, repetitions)
    if as_json:
        print(json.dumps([asdict(cost) for cost in costs], indent=2))
    else:
        print_table(COLUMNS, rows(costs), NOTE)


if __name__ == "__main__":
    tyro.cli(main)
