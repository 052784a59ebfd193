"""How often a model is right: accuracy, top-5 accuracy, loss and the accuracy of every class.

A model is always measured in eval mode (no dropout, stored batch statistics) and without gradients, and gets back
the modes it came with. Correct answers are counted in integers and losses summed in float64, so that the size of
a batch makes no difference. A `Tally` holds the sums; tallies of several processes add up.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headgrid.axes import Images, Labels, Logits

Precision = Literal["float32", "bfloat16"]

NUM_TOP = 5
"""An answer counts for the top-5 accuracy when it is among this many best guesses."""


@runtime_checkable
class Batches(Protocol):
    """What training and evaluation ask of a data set: batches of normalised images with their labels.

    `epoch(e, first_batch=k)` yields exactly what `epoch(e)` yields from batch k on, and does no work for the
    batches before. Where several processes train together, the training batches of each are its slices of the
    common ones, equally many in all; evaluation batches are the same in all, and evaluation divides them.
    """

    @property
    def num_images(self) -> int: ...

    @property
    def batch_size(self) -> int: ...

    def __len__(self) -> int: ...

    def epoch(self, epoch: int, first_batch: int = 0) -> Iterator[tuple[Tensor, Tensor]]: ...


@dataclass(frozen=True)
class Evaluation:
    """What a model reaches on a set of images. Without images of a class, that class has no accuracy."""

    num_images: int
    accuracy: float
    top5_accuracy: float | None
    """Share of images whose class is among the five best guesses; none with five classes or fewer."""
    loss: float | None
    """Mean cross entropy, without label smoothing; none where it is not finite."""
    per_class: tuple[float | None, ...]
    num_overflows: int = 0
    """Images on which the model's numbers grow beyond all bounds. They count as wrong answers."""


class Tally:
    """Running sums of an evaluation, kept on the device until they are asked for."""

    def __init__(self, num_classes: int, device: torch.device) -> None:
        # MPS has no float64; there the sums live on the CPU.
        self.device = torch.device("cpu") if device.type == "mps" else device
        self.loss = torch.zeros((), dtype=torch.float64, device=self.device)
        self.num_top = torch.zeros((), dtype=torch.int64, device=self.device)
        self.num_overflows = torch.zeros((), dtype=torch.int64, device=self.device)
        self.num_correct = torch.zeros(num_classes, dtype=torch.int64, device=self.device)
        self.num_images = torch.zeros(num_classes, dtype=torch.int64, device=self.device)

    @property
    def sums(self) -> list[Tensor]:
        """The tensors to add up over processes, in place."""
        return [self.loss, self.num_top, self.num_overflows, self.num_correct, self.num_images]

    def add(self, logits: Logits, labels: Labels) -> None:
        num_classes = self.num_images.shape[0]
        if logits.shape[1] != num_classes:
            raise ValueError(
                f"the model tells {logits.shape[1]} classes apart, but the images have {num_classes}: "
                "evaluate it on the kind of data it was trained for"
            )
        logits = logits.float().to(self.device)
        labels = labels.to(self.device)
        self.loss += F.cross_entropy(logits, labels, reduction="none").double().sum()
        finite = logits.isfinite().all(dim=1)
        self.num_overflows += (~finite).sum()
        correct = (logits.argmax(dim=1) == labels) & finite
        # bincount of the classes, without the synchronisation that torch.bincount needs on a GPU
        self.num_images.index_add_(0, labels, torch.ones_like(labels))
        self.num_correct.index_add_(0, labels, correct.long())
        if num_classes > NUM_TOP:
            best = logits.topk(NUM_TOP, dim=1).indices
            self.num_top += ((best == labels[:, None]) & finite[:, None]).sum()

    def evaluation(self) -> Evaluation:
        num_images = self.num_images.tolist()
        num_correct = self.num_correct.tolist()
        total = sum(num_images)
        if total == 0:
            raise ValueError("there are no images to evaluate on: expected at least one batch")
        loss = float(self.loss) / total
        return Evaluation(
            num_images=total,
            accuracy=sum(num_correct) / total,
            top5_accuracy=int(self.num_top) / total if len(num_images) > NUM_TOP else None,
            loss=loss if math.isfinite(loss) else None,
            num_overflows=int(self.num_overflows),
            per_class=tuple(
                right / count if count else None for right, count in zip(num_correct, num_images, strict=True)
            ),
        )


@contextmanager
def eval_mode(model: nn.Module) -> Iterator[None]:
    """Eval mode for a while; afterwards every part of the model has the mode it had, frozen parts included."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


def autocast(device: torch.device, precision: Precision) -> torch.autocast:
    """Matrix products in bfloat16 when asked for; weights, norms and losses stay in float32."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bfloat16")


def tally(
    model: Callable[[Tensor], Tensor],
    batches: Iterable[tuple[Tensor, Tensor]],
    num_classes: int,
    device: torch.device,
    precision: Precision = "float32",
    progress: Callable[[int], None] | None = None,
) -> Tally:
    """The sums over some batches. The model must be in eval mode already.

    `progress` is called with the number of images after every batch.
    """
    result = Tally(num_classes, device)
    # no_grad, not inference_mode: a tensor that a model keeps from here must be usable in training again.
    with torch.no_grad():
        for images, labels in batches:
            result.add(_logits(model, images, precision), labels)
            if progress is not None:
                progress(len(labels))
    return result


def _logits(model: Callable[[Tensor], Tensor], images: Images, precision: Precision) -> Logits:
    with autocast(images.device, precision):
        return model(images)


def evaluate(
    model: nn.Module,
    batches: Batches,
    num_classes: int,
    precision: Precision = "float32",
    progress: Callable[[int], None] | None = None,
) -> Evaluation:
    """Measure a model on all images of `batches`, in this process."""
    parameter = next(model.parameters(), None)
    device = torch.device("cpu") if parameter is None else parameter.device
    with eval_mode(model):
        return tally(model, batches.epoch(0), num_classes, device, precision, progress).evaluation()
