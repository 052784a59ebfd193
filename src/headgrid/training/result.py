"""What a finished training reached."""

import sys
from dataclasses import asdict, dataclass
from typing import Any, Literal

import cattrs
import torch

from headgrid.evaluation.accuracy import Evaluation

Selection = Literal["validation accuracy", "last epoch"]


@dataclass(frozen=True)
class TrainingResult:
    """The end of a run, as `result.json` keeps it."""

    selected_by: Selection
    """How the final weights were chosen: by validation, or simply the last where nothing was validated."""
    selected_epoch: int
    """Finished epochs of the final weights."""
    validation_accuracy: float | None
    """Validation accuracy of the final weights."""
    test: Evaluation | None
    """The final weights on the test images, which nothing looked at before; none where there are no test images."""
    num_epochs: int
    num_steps: int
    num_parameters: int
    num_processes: int
    seed: int
    seconds: float
    """Time of all sessions until the end of training, validation included."""
    images_per_second: float
    """Training images per second of training, validation not included."""

    @property
    def test_accuracy(self) -> float | None:
        return None if self.test is None else self.test.accuracy

    def in_words(self) -> str:
        """One line for people."""
        test = "not tested" if self.test is None else f"test accuracy {self.test.accuracy:.2%}"
        validation = "" if self.validation_accuracy is None else f", validation {self.validation_accuracy:.2%}"
        return f"{test}{validation} (epoch {self.selected_epoch} of {self.num_epochs}, by {self.selected_by})"

    def to_json(self) -> dict[str, Any]:
        return {"test_accuracy": self.test_accuracy, **asdict(self)}

    @staticmethod
    def from_json(value: dict[str, Any]) -> "TrainingResult":
        return cattrs.structure(value, TrainingResult)


def peak_memory(device: torch.device) -> int | None:
    """Largest memory of this process so far in bytes; on a GPU, of tensors there. None where it is not known."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    if sys.platform == "win32":
        return None
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024
