"""Several trainings in a group of processes, one after the other; every process notes how each of them ended.

torchrun --nproc-per-node 2 -m training.small_distributed FOLDER
"""

import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn

from headgrid.training import (
    SGD,
    AdamW,
    Cosine,
    Diverged,
    Interrupted,
    Processes,
    TrainingConfig,
    WeightAverage,
    connected,
    processes_from_environment,
)

from .small import SmallBatches, SmallModel, small_penalty, small_renew, train_small

CONFIG = TrainingConfig(
    num_epochs=3,
    batch_size=8,
    optimizer=SGD(learning_rate=1.0, weight_decay=0.01),
    schedule=Cosine(warmup_steps=3),
    label_smoothing=0.1,
    gradient_clip=0.2,
)
WITH_NORM = TrainingConfig(num_epochs=2, batch_size=8, optimizer=AdamW(), average=WeightAverage(0.5))
NUM_IMAGES = 51
"""Sixteen at a time: the last batch has three, and its slices two and one."""


class Model(SmallModel):
    """With a layer that is never used and one that is used twice; dropout would differ between the groups."""

    def __init__(self, norm: bool = False) -> None:
        super().__init__(norm=norm, dropout=0.0)
        self.never = nn.Linear(4, 4)
        self.twice = nn.Linear(3, 3)

    def forward(self, images: Tensor) -> Tensor:
        return self.twice(self.twice(super().forward(images)))


class Disturbed(SmallBatches):
    """In one batch of the last process something happens."""

    def __init__(self, what: str, processes: Processes, batch_size: int) -> None:
        super().__init__(NUM_IMAGES, batch_size, rank=processes.rank, num_processes=processes.num_processes)
        self.what = what

    def epoch(self, epoch: int, first_batch: int = 0):
        here = self.rank == self.num_processes - 1
        for number, (images, labels) in enumerate(super().epoch(epoch, first_batch), start=first_batch):
            if here and (epoch, number) == (1, 2):
                if self.what == "ctrl-c":
                    os.kill(os.getpid(), signal.SIGINT)
                if self.what == "nan":
                    images = images * float("nan")
            yield images, labels


def run(folder: Path, processes: Processes, config: TrainingConfig, what: str = "", **options) -> dict:
    batches = Disturbed(what, processes, config.batch_size)
    norm = options.pop("norm", False)
    try:
        result = train_small(
            folder,
            config,
            model=Model(norm),
            training_batches=batches,
            processes=processes,
            describe=lambda model: {"never": model.never.weight},
            **options,
        )
    except (Interrupted, Diverged, ValueError) as end:
        return {"end": type(end).__name__, "message": str(end)}
    return {"end": "result", "test_images": result.test.num_images, "test_accuracy": result.test_accuracy}


def main() -> None:
    folder = Path(sys.argv[1])
    torch.set_num_threads(1)
    with connected(processes_from_environment(), torch.device("cpu")) as processes:
        ends = {
            "curve": run(folder / "curve", processes, CONFIG),
            "again": run(folder / "curve", processes, CONFIG),
            "finished": run(folder / "curve", processes, CONFIG, resume=True),
            "ctrl-c": run(folder / "ctrl-c", processes, CONFIG, "ctrl-c"),
            "resumed": run(folder / "ctrl-c", processes, CONFIG, resume=True),
            "nan": run(folder / "nan", processes, replace(CONFIG, save_minutes=0.0), "nan"),
            "care": run(folder / "care", processes, CONFIG, penalty=small_penalty, renew=small_renew),
            "norm": run(folder / "norm", processes, WITH_NORM, norm=True),
        }
    (folder / f"rank{processes.rank}.json").write_text(json.dumps(ends))


if __name__ == "__main__":
    main()
