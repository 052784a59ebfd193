"""How a model is trained, as one value. Nothing in it depends on the machine."""

from dataclasses import dataclass, field

from headgrid.evaluation.accuracy import Precision
from headgrid.training.average import WeightAverage
from headgrid.training.optimizer import SGD, Optimizer
from headgrid.training.schedule import Cosine, Schedule


@dataclass(frozen=True)
class TrainingConfig:
    """Epochs, batches, optimizer and everything else that decides what a training computes."""

    num_epochs: int
    """How often every training image is seen."""
    batch_size: int
    """Images per step and process."""
    optimizer: Optimizer = field(default_factory=SGD)
    """How gradients become updates."""
    schedule: Schedule = field(default_factory=Cosine)
    """How the learning rate changes over the steps."""
    label_smoothing: float = 0.0
    """Share of the target probability that the right class gives to the others, evenly."""
    gradient_clip: float | None = None
    """Largest norm of the whole gradient; longer ones are shortened."""
    average: WeightAverage | None = None
    """Evaluate and keep a running average of the weights instead of the last ones."""
    precision: Precision = "float32"
    """What matrix products are computed in; bfloat16 leaves weights, norms and the loss in float32."""
    evaluation_batch_size: int = 500
    """Images per evaluation batch and process; makes no difference to the results."""
    evaluate_every: int = 1
    """Measure on the validation images after every so many epochs, and after the last one."""
    checkpoint_every: int = 0
    """Keep a checkpoint of every so many epochs for good; 0 keeps only the last and the best."""
    save_minutes: float = 10.0
    """Within an epoch, save the state after so many minutes."""

    def __post_init__(self) -> None:
        for name in ("num_epochs", "batch_size", "evaluation_batch_size", "evaluate_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, but is {getattr(self, name)}")
        for name in ("checkpoint_every", "save_minutes"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must not be negative, but is {getattr(self, name)}")
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(f"label_smoothing must be at least 0 and below 1, but is {self.label_smoothing}")
        if self.gradient_clip is not None and not self.gradient_clip > 0:
            raise ValueError(f"gradient_clip must be above 0, but is {self.gradient_clip}")

    def evaluates(self, epoch: int) -> bool:
        """Whether the validation images are looked at after so many finished epochs."""
        return epoch % self.evaluate_every == 0 or epoch == self.num_epochs

    def keeps(self, epoch: int) -> bool:
        """Whether the checkpoint after so many finished epochs is kept for good."""
        return self.checkpoint_every > 0 and epoch % self.checkpoint_every == 0
