"""A small model and small batches; run as a module, a training of them that may be killed."""

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor, nn

from headgrid.training import (
    SGD,
    AdamW,
    Cosine,
    Interrupted,
    Processes,
    Progress,
    TrainingConfig,
    TrainingResult,
    WeightAverage,
    train,
)

NUM_CLASSES = 3
EXPERIMENT = "name: small\ntraining:\n  num_epochs: 4\n"


class SmallModel(nn.Module):
    """A convolution (channels last in memory), batch statistics, dropout, and an indexed table of positions."""

    def __init__(
        self, seed: int = 0, num_classes: int = NUM_CLASSES, norm: bool = True, dropout: float = 0.3
    ) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.convolution = nn.Conv2d(3, 8, 3, padding=1).to(memory_format=torch.channels_last)
        self.norm = nn.BatchNorm2d(8) if norm else nn.Identity()
        self.centers = nn.Parameter(torch.randn(7, 8))
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(8, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        x = self.norm(self.convolution(images)).relu().flatten(2)
        index = torch.arange(x.shape[2]) % len(self.centers)
        x = x + self.centers[index].T
        return self.head(self.dropout(x.square().mean(2)))


class SmallBatches:
    """Noise with one class brighter than the other; new noise in every epoch, and nothing remembered."""

    def __init__(
        self,
        num_images: int = 50,
        batch_size: int = 8,
        seed: int = 0,
        augment: bool = True,
        rank: int = 0,
        num_processes: int = 1,
        seconds_per_batch: float = 0.0,
    ) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.labels = torch.arange(num_images) % NUM_CLASSES
        noise = torch.randn(num_images, 3, 6, 5, generator=generator)
        self.images = noise + 0.5 * self.labels[:, None, None, None]
        self.num_images = num_images
        self.batch_size = batch_size
        self.seed = seed
        self.augment = augment
        self.rank = rank
        self.num_processes = num_processes
        self.seconds_per_batch = seconds_per_batch

    def __len__(self) -> int:
        return -(-self.num_images // (self.batch_size * self.num_processes))

    def epoch(self, epoch: int, first_batch: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        size = self.batch_size * self.num_processes
        for batch in range(first_batch, len(self)):
            if self.seconds_per_batch:
                time.sleep(self.seconds_per_batch)
            images = self.images[batch * size : (batch + 1) * size]
            labels = self.labels[batch * size : (batch + 1) * size]
            if self.augment:
                generator = torch.Generator().manual_seed(hash((self.seed, epoch, batch)) % 2**31)
                images = images + 0.3 * torch.randn(images.shape, generator=generator)
            yield images[self.rank :: self.num_processes], labels[self.rank :: self.num_processes]


def describe(model: nn.Module) -> dict[str, Tensor]:
    assert isinstance(model, SmallModel)
    return {"centers": model.centers}


def small_penalty(model: nn.Module) -> Tensor:
    """A term of the loss about one parameter, large enough to see."""
    assert isinstance(model, SmallModel)
    return 0.2 * (model.centers - 1).square().mean()


def small_renew(model: nn.Module, epoch: int, seed: int) -> dict[str, dict[int, Tensor]]:
    """Rows of the centers whose first number is below zero begin anew before every second epoch."""
    assert isinstance(model, SmallModel)
    if epoch % 2:
        return {}
    fresh = torch.randn(model.centers.shape, generator=torch.Generator().manual_seed(seed % 2**63))
    rows = {row: fresh[row] for row in range(len(fresh)) if model.centers[row, 0] < 0}
    return {"centers": rows} if rows else {}


CONFIGS = {
    "plain": TrainingConfig(
        num_epochs=4,
        batch_size=8,
        optimizer=SGD(learning_rate=0.05, without_decay=("centers",)),
        checkpoint_every=2,
    ),
    "average": TrainingConfig(
        num_epochs=4,
        batch_size=8,
        optimizer=AdamW(learning_rate=0.01),
        schedule=Cosine(warmup_steps=5),
        label_smoothing=0.1,
        gradient_clip=1.0,
        average=WeightAverage(0.9),
        evaluate_every=2,
        save_minutes=0.0,
    ),
    "bfloat16": TrainingConfig(num_epochs=4, batch_size=8, precision="bfloat16", save_minutes=0.0),
}


def train_small(
    folder: Path,
    config: TrainingConfig = CONFIGS["plain"],
    *,
    model: nn.Module | None = None,
    seconds_per_batch: float = 0.0,
    norm: bool = True,
    processes: Processes | None = None,
    **options,
) -> TrainingResult:
    processes = processes or Processes()
    share = {"rank": processes.rank, "num_processes": processes.num_processes}
    options = {
        "experiment": EXPERIMENT,
        "num_classes": NUM_CLASSES,
        "seed": 3,
        "device": torch.device("cpu"),
        "test_batches": lambda: SmallBatches(30, 7, seed=2, augment=False),
        "validation_batches": SmallBatches(31, 7, seed=1, augment=False, seconds_per_batch=seconds_per_batch / 2),
        "training_batches": SmallBatches(50, config.batch_size, seconds_per_batch=seconds_per_batch, **share),
        "describe": describe,
        "progress": Progress(),
        "processes": processes,
        **options,
    }
    training, validation = options.pop("training_batches"), options.pop("validation_batches")
    return train(model or SmallModel(norm=norm), training, validation, config, folder, **options)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("run", type=Path)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--config", default="plain", choices=CONFIGS)
    parser.add_argument("--seconds-per-batch", type=float, default=0.0)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--dropout", type=float, default=0.3)
    arguments = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    print("training", flush=True)
    try:
        train_small(
            arguments.run,
            CONFIGS[arguments.config],
            model=SmallModel(dropout=arguments.dropout),
            seconds_per_batch=arguments.seconds_per_batch,
            resume=arguments.resume,
            compile=arguments.compile,
        )
    except Interrupted:
        return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
