"""One step of training, and everything that a step changes.

A step is a function of its number: the learning rate, the batch and the random numbers (dropout) follow from the
seed and the step, never from what happened before in the process. So a training that is taken up from saved tensors
goes on exactly as if it had not stopped.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headgrid.axes import Images, Labels, Logits
from headgrid.evaluation.accuracy import autocast
from headgrid.training.average import AveragedWeights
from headgrid.training.checkpoint import Checkpoint, Tensors, to_disk
from headgrid.training.config import TrainingConfig
from headgrid.training.distributed import Processes
from headgrid.training.optimizer import trainable

_OPTIMIZER, _RAW = "optimizer.", "raw."

Penalty = Callable[[nn.Module], Tensor]
"""A term of the loss that depends on the parameters of the model alone."""

NewRows = Mapping[str, Mapping[int, Tensor]]
"""New values for parts of a model: for some rows of some parameters, by the parameter's name."""


def renewal_seed(seed: int, epoch: int) -> int:
    """The seed of what begins anew after so many epochs, apart from those of the steps."""
    return int(np.random.SeedSequence((seed, epoch), spawn_key=(1,)).generate_state(1, np.uint64)[0])


def seed_step(seed: int, step: int, rank: int, device: torch.device) -> None:
    """Give the random numbers of this step (dropout) their own seed, another one in every process."""
    value = int(np.random.SeedSequence((seed, step, rank)).generate_state(1, np.uint64)[0])
    # torch.manual_seed would visit every kind of device, which takes as long as a small layer.
    torch.default_generator.manual_seed(value)
    if device.type == "cuda":
        torch.cuda.manual_seed(value)
    elif device.type == "mps":
        torch.mps.manual_seed(value)


@contextmanager
def deterministic(device: torch.device) -> Iterator[None]:
    """On a CPU, sums in a fixed order; GPUs keep their faster kernels.

    Otherwise the gradient of an indexed table (learned relative positions) changes from run to run as soon as two
    threads add to it. The fixed order is no slower.
    """
    if device.type != "cpu" or torch.are_deterministic_algorithms_enabled():
        yield
        return
    options: Any = torch.utils.deterministic
    fill = options.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True, warn_only=True)
    # Filling new memory costs time and serves to find mistakes, not to repeat sums.
    options.fill_uninitialized_memory = False
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)
        options.fill_uninitialized_memory = fill


def smoothing_over_all(label_smoothing: float, num_classes: int) -> float:
    """The same smoothing with the right class among those that share, as torch has it."""
    if label_smoothing == 0:
        return 0.0
    if label_smoothing * num_classes > num_classes - 1:
        raise ValueError(
            f"label_smoothing {label_smoothing} leaves the right class less than each of the others: with "
            f"{num_classes} classes it must be at most {1 - 1 / num_classes:.3g}"
        )
    return label_smoothing * num_classes / (num_classes - 1)


class Learner:
    """A model with its optimizer, the average of its weights, and the running sums of the epoch."""

    def __init__(
        self,
        model: nn.Module,
        config: TrainingConfig,
        seed: int,
        device: torch.device,
        processes: Processes,
        compile: bool,
        penalty: Penalty | None = None,
    ) -> None:
        self.model = model.to(device)
        self.config = config
        self.seed = seed
        self.device = device
        self.processes = processes
        self.penalty = penalty
        # State is always read from the model itself; compiling and wrapping only change how it is called.
        self.call: nn.Module = torch.compile(model) if compile else model  # type: ignore[assignment]
        self.call_training = processes.wrap(self.call, device)
        self.parameters = trainable(model)
        self.optimizer = config.optimizer.build(model)
        self.average = AveragedWeights(model, config.average) if config.average is not None else None
        self.set_sums()
        self._first_bad_step = torch.full((), -1, dtype=torch.int64, device=device)

    def set_sums(self, loss: float = 0.0, num_correct: float = 0.0, num_images: float = 0.0) -> None:
        """Set the sums of the epoch over this process's images."""
        self.num_images = int(num_images)
        # MPS has no float64.
        dtype = torch.float32 if self.device.type == "mps" else torch.float64
        self._sums = torch.tensor([loss, num_correct], dtype=dtype, device=self.device)

    def sums(self) -> list[float]:
        """Loss, correct answers and images of the epoch so far, of this process. Waits for the device."""
        return [*self._sums.tolist(), float(self.num_images)]

    def step(self, step: int, images: Images, labels: Labels, num_global_images: int, learning_rate: float) -> None:
        """Train on this process's slice of a batch of `num_global_images`."""
        seed_step(self.seed, step, self.processes.rank, self.device)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        self.optimizer.zero_grad()
        logits = self._logits(images)
        smoothing = smoothing_over_all(self.config.label_smoothing, logits.shape[1])
        loss = F.cross_entropy(logits, labels, reduction="sum", label_smoothing=smoothing)
        # The processes' gradients are averaged. Slices may differ in size, so each loss is its share of the mean
        # over the whole batch, times the number of processes.
        objective = loss * (self.processes.num_processes / num_global_images)
        if self.penalty is not None:
            objective = objective + self.penalty(self.model)
        objective.backward()
        if self.config.gradient_clip is not None:
            nn.utils.clip_grad_norm_(self.parameters.values(), self.config.gradient_clip)
        self.optimizer.step()
        if self.average is not None:
            self.average.update(step)
        self._count(step, logits.detach(), labels, loss.detach(), objective.detach())

    def _logits(self, images: Images) -> Logits:
        with autocast(self.device, self.config.precision):
            return self.call_training(images).float()

    @torch.no_grad()
    def _count(self, step: int, logits: Tensor, labels: Tensor, loss: Tensor, objective: Tensor) -> None:
        self.num_images += len(labels)
        self._sums[0] += loss
        self._sums[1] += (logits.argmax(dim=1) == labels).sum()
        bad = ~torch.isfinite(objective) & (self._first_bad_step < 0)
        self._first_bad_step.masked_fill_(bad, step)

    @torch.no_grad()
    def set_rows(self, new: NewRows) -> None:
        """Let rows of parameters begin anew: the optimizer forgets about them, and so does the average."""
        for name, values in new.items():
            parameter = self.parameters[name]
            rows = torch.tensor(list(values), device=parameter.device)
            parameter[rows] = torch.stack(list(values.values())).to(parameter)
            for state in self.optimizer.state.get(parameter, {}).values():
                if isinstance(state, Tensor) and state.shape == parameter.shape:
                    state[rows] = 0
            if self.average is not None:
                self.average.state[name][rows] = parameter[rows]

    def first_bad_step(self) -> int | None:
        """The first step of this process whose loss was not finite. Waits for the device."""
        step = int(self._first_bad_step)
        return step if step >= 0 else None

    def weights_are_finite(self) -> bool:
        finite = [torch.isfinite(parameter).all() for parameter in self.parameters.values()]
        return bool(torch.stack(finite).all())

    @contextmanager
    def evaluation_weights(self) -> Iterator[None]:
        """The model carries the weights that count: their average, where one is kept."""
        if self.average is None:
            yield
        else:
            with self.average.in_place():
                yield

    def checkpoint(self, state: dict) -> Checkpoint:
        tensors: Tensors = {
            f"{_OPTIMIZER}{key}.{name}": value
            for name, parameter in self.parameters.items()
            for key, value in self.optimizer.state.get(parameter, {}).items()
            if isinstance(value, Tensor)
        }
        if self.average is not None:
            tensors |= {_RAW + name: tensor for name, tensor in self.model.state_dict().items()}
        tensors = to_disk(tensors)
        with self.evaluation_weights():
            return Checkpoint(to_disk(self.model.state_dict()), tensors, state)

    def load(self, checkpoint: Checkpoint) -> None:
        """Take up the tensors of a checkpoint, bit by bit."""
        raw = {k.removeprefix(_RAW): v for k, v in checkpoint.tensors.items() if k.startswith(_RAW)}
        load_into(self.model, raw if self.average is not None else checkpoint.weights)
        if self.average is not None:
            self.average.load(checkpoint.weights)
        self.optimizer.state.clear()
        for name, value in checkpoint.tensors.items():
            if name.startswith(_OPTIMIZER):
                key, parameter_name = name.removeprefix(_OPTIMIZER).split(".", 1)
                parameter = self.parameters[parameter_name]
                if value.shape == parameter.shape and key != "step":
                    # In memory it lies as its parameter does, and as it lay when it was saved.
                    value = torch.empty_like(parameter, dtype=value.dtype, requires_grad=False).copy_(value)
                self.optimizer.state[parameter][key] = value


def load_into(model: nn.Module, weights: Tensors) -> None:
    """Put stored weights into a model, or say in one sentence what does not fit."""
    own = model.state_dict()
    for name in [*own, *weights]:
        if name not in weights or name not in own:
            where = "the checkpoint has no" if name not in weights else "the model has no"
            raise ValueError(f"the checkpoint does not fit the model: {where} {name!r}")
        if own[name].shape != weights[name].shape:
            raise ValueError(
                f"the checkpoint does not fit the model: {name!r} has the shape {list(weights[name].shape)} there "
                f"and {list(own[name].shape)} in the model"
            )
    model.load_state_dict(weights)
