"""How much of a model's accuracy is left when images are turned, or changed on purpose to mislead it.

All checks see the same images in one pass over the data. An attack's success is counted as in the literature:
among the images that the model gets right when they are left alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from headgrid.axes import Images, Labels, Logits
from headgrid.data import Normalization
from headgrid.evaluation.accuracy import Batches, Evaluation, Tally, eval_mode
from headgrid.evaluation.adversarial import PGD, Attack, from_pixels, frozen, to_pixels
from headgrid.evaluation.rotation import Rotation, UpsideDown

Check = Rotation | UpsideDown | PGD

PASSES_PER_STEP = 3
"""A step of an attack costs about three forward passes: one, and twice that much backward."""


@dataclass(frozen=True)
class Outcome:
    """What is left under one check."""

    check: Check
    evaluation: Evaluation
    drop: float
    """Accuracy on the unchanged images minus accuracy now."""
    top5_drop: float | None
    success_rate: float | None
    """Of attacks: share of the images it was right about that are now wrong, or taken for the target."""


@dataclass(frozen=True)
class Robustness:
    unchanged: Evaluation
    """On the images as they are."""
    outcomes: tuple[Outcome, ...]
    """One for each check, in their order."""


def num_passes(checks: Sequence[Check]) -> int:
    """What `robustness` costs for an image, in forward passes: the steps that progress counts."""
    attacks = [check for check in checks if isinstance(check, PGD)]
    return 1 + len(checks) + sum(PASSES_PER_STEP * attack.num_steps for attack in attacks)


def robustness(
    model: nn.Module,
    batches: Batches,
    num_classes: int,
    normalization: Normalization,
    checks: Sequence[Check],
    progress: Callable[[int], None] | None = None,
) -> Robustness:
    """Measures any model of images on all images of ``batches``, which were normalised with ``normalization``.

    The model is in eval mode meanwhile and stays as it is: modes, parameters and their gradients.
    """
    parameter = next(model.parameters(), None)
    device = torch.device("cpu") if parameter is None else parameter.device
    advance = progress if progress is not None else lambda num_passes: None
    unchanged = Tally(num_classes, device)
    measures = [_measure(check, model, normalization, num_classes, device) for check in checks]
    with eval_mode(model), frozen(model), torch.no_grad():
        for images, labels in batches.epoch(0):
            logits = model(images)
            unchanged.add(logits, labels)
            advance(len(labels))
            for measure in measures:
                measure.add(images, labels, logits, advance)
    evaluation = unchanged.evaluation()
    return Robustness(evaluation, tuple(measure.outcome(evaluation) for measure in measures))


class _Turned:
    """Accuracy on turned images."""

    def __init__(self, check: Rotation | UpsideDown, model: nn.Module, tally: Tally) -> None:
        self.check, self.model, self.tally = check, model, tally

    def add(self, images: Images, labels: Labels, logits: Logits, advance: Callable[[int], None]) -> None:
        turned = self.check.apply(images)
        try:
            logits = self.model(turned)
        except (AssertionError, RuntimeError, ValueError) as error:
            if turned.shape == images.shape:
                raise
            rows, columns = images.shape[2:]
            raise ValueError(
                f"turning images of {rows} x {columns} gives {columns} x {rows}, which the model cannot take: "
                f"check it on square images, or leave the rotations out ({error})"
            ) from error
        self.tally.add(logits, labels)
        advance(len(labels))

    def outcome(self, unchanged: Evaluation) -> Outcome:
        return _outcome(self.check, self.tally.evaluation(), unchanged, None)


class _Attacked:
    """Accuracy under attack, and how often it reaches its goal."""

    def __init__(self, check: PGD, model: nn.Module, normalization: Normalization, tally: Tally) -> None:
        self.check, self.model, self.normalization, self.tally = check, model, normalization, tally
        self.attack: Attack = check.begin()
        self.num_right = torch.zeros((), dtype=torch.int64, device=tally.device)
        self.num_reached = torch.zeros((), dtype=torch.int64, device=tally.device)

    def add(self, images: Images, labels: Labels, logits: Logits, advance: Callable[[int], None]) -> None:
        pixels = to_pixels(images, self.normalization)
        aims = self.attack.aims(logits, labels)
        after_step = partial(advance, PASSES_PER_STEP * len(labels))
        changed = pixels + self.attack.perturbation(self._of_pixels, pixels, aims, after_step)
        now = self._of_pixels(changed)
        self.tally.add(now, labels)
        right = _guesses(logits) == labels
        reached = self.check.goal.reached(_guesses(now), labels, aims)
        self.num_right += right.sum().to(self.num_right.device)
        self.num_reached += (right & reached).sum().to(self.num_right.device)
        advance(len(labels))

    def outcome(self, unchanged: Evaluation) -> Outcome:
        num_right = int(self.num_right)
        success_rate = int(self.num_reached) / num_right if num_right else None
        return _outcome(self.check, self.tally.evaluation(), unchanged, success_rate)

    def _of_pixels(self, pixels: Images) -> Tensor:
        return self.model(from_pixels(pixels, self.normalization)).float()


def _guesses(logits: Logits) -> Labels:
    """The most likely class; -1, which is none, where the model overflows, as accuracy counts it too."""
    return logits.argmax(dim=1).where(logits.isfinite().all(dim=1), -1)


def _measure(
    check: Check, model: nn.Module, normalization: Normalization, num_classes: int, device: torch.device
) -> _Turned | _Attacked:
    tally = Tally(num_classes, device)
    if isinstance(check, PGD):
        return _Attacked(check, model, normalization, tally)
    return _Turned(check, model, tally)


def _outcome(check: Check, now: Evaluation, unchanged: Evaluation, success_rate: float | None) -> Outcome:
    top5_drop = None
    if now.top5_accuracy is not None and unchanged.top5_accuracy is not None:
        top5_drop = unchanged.top5_accuracy - now.top5_accuracy
    return Outcome(check, now, unchanged.accuracy - now.accuracy, top5_drop, success_rate)
