"""How long an epoch of each preset takes here: the table of `headgrid.experiments.durations`.

    python benchmarks/epoch_duration.py [PRESET ...] [--size laptop] [--steps 6]

Times some training steps (the median counts) and one batch of validation, in bfloat16 and in float32, and
extrapolates to an epoch of CIFAR-10 with its validation. Nothing else should run beside it.
"""

import time
from dataclasses import dataclass
from statistics import median

import torch
import torch.nn.functional as F
import tyro
from torch import nn

from headgrid.data import Cifar10, Dataset
from headgrid.evaluation.accuracy import Precision
from headgrid.experiments import PRESETS, Experiment, Size, initial_model, make_experiment


@dataclass(frozen=True)
class Arguments:
    """Time an epoch of each preset."""

    presets: tyro.conf.Positional[tuple[str, ...]] = ()
    """Names of presets; all of them if none is given."""
    size: Size = "laptop"
    """Size of the presets."""
    steps: int = 6
    """Training steps to time; the first is not counted."""


def seconds_per_epoch(experiment: Experiment, data: Dataset, precision: Precision, num_steps: int) -> float:
    model = initial_model(experiment)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    batches = data.training_batches(experiment.training.batch_size, seed=0)
    images_of_epoch = batches.epoch()
    durations = []
    for _ in range(num_steps):
        start = time.perf_counter()
        images, labels = next(images_of_epoch)
        loss = F.cross_entropy(_logits(model, images, precision), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        durations.append(time.perf_counter() - start)
    validation = data.evaluation_batches("validation", experiment.training.evaluation_batch_size)
    images, _ = next(iter(validation))
    start = time.perf_counter()
    with torch.inference_mode():
        _logits(model.eval(), images, precision)
    return len(batches) * median(durations[1:]) + len(validation) * (time.perf_counter() - start)


def _logits(model: nn.Module, images: torch.Tensor, precision: Precision) -> torch.Tensor:
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bfloat16"):
        return model(images).float()


def main(arguments: Arguments) -> None:
    data = Cifar10().load()
    for name in arguments.presets or PRESETS:
        experiment = make_experiment(name, arguments.size)
        if not isinstance(experiment.data, Cifar10):
            continue
        precisions: tuple[Precision, ...] = ("bfloat16", "float32")
        seconds = {
            precision: round(seconds_per_epoch(experiment, data, precision, arguments.steps))
            for precision in precisions
        }
        print(f'    ("{name}", "{arguments.size}"): {seconds},'.replace("'", '"'), flush=True)


if __name__ == "__main__":
    main(tyro.cli(Arguments))
