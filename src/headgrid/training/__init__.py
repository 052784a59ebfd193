"""Train any model on any batches into a run folder: exactly resumable, in one process or several.

result = train(model, training_batches, validation_batches, config, folder, experiment=text, ...)
"""

from headgrid.training.average import WeightAverage
from headgrid.training.checkpoint import load_weights
from headgrid.training.config import TrainingConfig
from headgrid.training.device import choose_device, set_num_threads
from headgrid.training.distributed import Processes, connected, processes_from_environment
from headgrid.training.loop import train
from headgrid.training.optimizer import SGD, AdamW, Optimizer
from headgrid.training.progress import Progress, choose_progress
from headgrid.training.result import TrainingResult
from headgrid.training.run_folder import RunFolder
from headgrid.training.schedule import Constant, Cosine, MultiStep, Schedule
from headgrid.training.step import load_into
from headgrid.training.stops import Diverged, Interrupted
from headgrid.training.writers import TensorBoard, WeightsAndBiases, Writer

__all__ = [
    "SGD",
    "AdamW",
    "Constant",
    "Cosine",
    "Diverged",
    "Interrupted",
    "MultiStep",
    "Optimizer",
    "Processes",
    "Progress",
    "RunFolder",
    "Schedule",
    "TensorBoard",
    "TrainingConfig",
    "TrainingResult",
    "WeightAverage",
    "WeightsAndBiases",
    "Writer",
    "choose_device",
    "choose_progress",
    "connected",
    "load_into",
    "load_weights",
    "processes_from_environment",
    "set_num_threads",
    "train",
]
