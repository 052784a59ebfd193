"""Where a training stands: the counters and sums that a checkpoint keeps beside its tensors."""

from dataclasses import asdict, dataclass, field
from typing import Any

import cattrs


@dataclass
class TrainingState:
    """Position, running sums and best result of a training."""

    seed: int
    num_processes: int
    steps_per_epoch: int
    epoch: int = 0
    """Finished epochs, their evaluation included."""
    batch: int = 0
    """Finished batches of the current epoch."""
    sums: list[list[float]] = field(default_factory=list)
    """For every process: loss, correct answers and images of the current epoch."""
    best_epoch: int | None = None
    best_accuracy: float | None = None
    seconds: float = 0.0
    """Time of all epochs so far."""
    epoch_seconds: float = 0.0
    """Time of the current epoch."""
    training_seconds: float = 0.0
    """Time of all epochs without evaluations."""
    epoch_training_seconds: float = 0.0
    num_images: int = 0
    """Images of all finished epochs."""

    @property
    def step(self) -> int:
        """Finished steps."""
        return self.epoch * self.steps_per_epoch + self.batch

    def spend(self, seconds: float, training: bool) -> None:
        self.seconds += seconds
        self.epoch_seconds += seconds
        if training:
            self.training_seconds += seconds
            self.epoch_training_seconds += seconds

    @property
    def images_per_second(self) -> float:
        """Training images per second of training, over the finished epochs."""
        return self.num_images / max(1e-9, self.training_seconds)

    def finish_epoch(self, num_images: int) -> None:
        self.num_images += num_images
        self.epoch += 1
        self.batch = 0
        self.epoch_seconds = self.epoch_training_seconds = 0.0

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "step": self.step}

    def go_on(self, stored: dict[str, Any]) -> "TrainingState":
        """The stored state, if it belongs to the training that this new state describes."""
        found = cattrs.structure({key: value for key, value in stored.items() if key != "step"}, TrainingState)
        for name, what in (
            ("seed", "with the seed"),
            ("num_processes", "in this number of processes:"),
            ("steps_per_epoch", "with this number of steps per epoch:"),
        ):
            old, new = getattr(found, name), getattr(self, name)
            if old != new:
                raise ValueError(
                    f"the run was started {what} {old}, not {new}: resume it as it was started, "
                    "or train into another folder"
                )
        return found
