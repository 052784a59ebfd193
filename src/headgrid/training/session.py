"""A training in progress: where it stands, and how its processes agree to save, to go on, or to stop."""

import math
import time
from dataclasses import dataclass, field
from itertools import islice
from typing import NoReturn

import torch

from headgrid.evaluation.accuracy import Batches, Evaluation, eval_mode, tally
from headgrid.training.checkpoint import weights_file
from headgrid.training.config import TrainingConfig
from headgrid.training.device import synchronize
from headgrid.training.distributed import Processes
from headgrid.training.progress import Progress
from headgrid.training.run_folder import RunFolder
from headgrid.training.state import TrainingState
from headgrid.training.step import Learner
from headgrid.training.stops import Diverged, Interrupted, StopRequest

LOSS_CHECK_INTERVAL = 20
"""On a GPU the loss is looked at every so many steps, because looking makes the program wait. The first bad step is
noted on the GPU itself, so it is named exactly, and nothing is saved without a look."""


class Stopped(Exception):  # noqa: N818
    """All processes have agreed to stop an evaluation, because one of them was asked to."""


@dataclass
class Session:
    """What a training shares with its epochs. Every method is called by all processes together."""

    run: RunFolder
    config: TrainingConfig
    learner: Learner
    state: TrainingState
    processes: Processes
    request: StopRequest
    progress: Progress
    resume_hint: str
    saved_step: int | None = None
    _clock: float = field(default_factory=time.perf_counter)
    _saved_at: float = field(default_factory=time.perf_counter)

    @property
    def num_steps(self) -> int:
        return self.config.num_epochs * self.state.steps_per_epoch

    def learning_rate(self, step: int) -> float:
        factor = self.config.schedule.rate_factor(step, self.num_steps, self.state.steps_per_epoch)
        return self.config.optimizer.learning_rate * factor

    def spend(self, training: bool) -> None:
        """Book the time since the last call as training or as something else."""
        synchronize(self.learner.device)
        now = time.perf_counter()
        self.state.spend(now - self._clock, training)
        self._clock = now

    def before_step(self, num_images: int) -> int:
        """Agree on what happens now; returns the number of images in the whole batch."""
        step = self.state.step
        look = self.learner.device.type == "cpu" or step % LOSS_CHECK_INTERVAL == 0
        bad = look and self.learner.first_bad_step() is not None
        # The main process's clock decides for all when it is time to save.
        save_time = self.config.save_minutes * 60
        due = self.processes.is_main and time.perf_counter() - self._saved_at >= save_time
        total, is_bad, stop, save = self.processes.sum([num_images, bad, self.request.is_made, due])
        if is_bad:
            self.refuse_bad_loss()
        if stop:
            self.spend(training=True)
            self.stop()
        if save and step != self.saved_step:
            self.spend(training=True)
            self.save(["last"])
            self.spend(training=False)
        return total

    def refuse_bad_loss(self) -> None:
        """Stop if the loss of any process and step was not finite."""
        bad_step = self.learner.first_bad_step()
        steps = self.processes.gather(torch.tensor([self.num_steps if bad_step is None else bad_step]))
        first = int(steps.min())
        if first < self.num_steps:
            self.diverge("the training loss", first)

    def diverge(self, what: str, step: int) -> NoReturn:
        """`step` counts from 0; people count from 1."""
        rate = self.learning_rate(step)
        last = weights_file(self.run.checkpoints, "last")
        epoch = step // self.state.steps_per_epoch + 1
        raise Diverged(
            f"{what} became nan or infinite at step {step + 1} (epoch {epoch}, learning rate {rate:.6g}); the last "
            f"good checkpoint is {last} of step {self.saved_step}: lower the learning rate or set gradient_clip",
            step=step + 1,
            learning_rate=rate,
            checkpoint=last,
        )

    def refuse_bad_weights(self) -> None:
        """Stop if the loss or a weight is not finite: such weights are neither measured nor saved."""
        self.refuse_bad_loss()
        if not self.learner.weights_are_finite():
            self.diverge("a weight", self.state.step - 1)

    def epoch_sums(self) -> torch.Tensor:
        """For every process a row of loss, correct answers and images of the current epoch."""
        return self.processes.gather(torch.tensor(self.learner.sums(), dtype=torch.float64))

    def save(self, names: list[str]) -> None:
        """Save everything under these names, in this order."""
        self.refuse_bad_weights()
        self.state.sums = self.epoch_sums().tolist()
        self.processes.on_main(lambda: self._write(names))
        self.saved_step = self.state.step
        self._saved_at = time.perf_counter()

    def _write(self, names: list[str]) -> None:
        checkpoint = self.learner.checkpoint(self.state.to_json())
        for name in names:
            self.run.save(name, checkpoint)

    def stop(self) -> NoReturn:
        """Save what has been done and end the training."""
        self.spend(training=False)
        self.save(["last"])
        self.interrupt()

    def interrupt(self) -> NoReturn:
        step = self.state.step
        raise Interrupted(
            f"stopped after step {step} of {self.num_steps}; everything is saved in {self.run.path}. "
            f"{self.resume_hint}",
            folder=self.run.path,
            step=step,
        )

    def evaluate(self, batches: Batches, num_classes: int, what: str) -> Evaluation:
        """Measure the model, each process on its stretch of the batches."""
        stretch = math.ceil(len(batches) / self.processes.num_processes)
        first = min(self.processes.rank * stretch, len(batches))
        num_own = min(stretch, len(batches) - first)

        def after_batch(num_images: int) -> None:
            total, stop = self.processes.sum([num_images, self.request.is_made])
            if stop:
                raise Stopped
            self.progress.pace.evaluate(total)
            self.progress.evaluating(what)

        learner = self.learner
        self.processes.share_buffers(learner.model)
        own = islice(batches.epoch(0, first), num_own)
        with eval_mode(learner.model):
            sums = tally(learner.call, own, num_classes, learner.device, self.config.precision, after_batch)
        for _ in range(stretch - num_own):
            after_batch(0)
        self.processes.add_up(sums.sums)
        return sums.evaluation()
