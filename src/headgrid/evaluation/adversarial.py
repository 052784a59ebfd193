"""Projected gradient descent, PGD (Madry et al. 2018): small changes that make a model wrong.

Every pixel of an image x may change by at most epsilon, and stays from 0 to 1. From a random start in this box,

    x <- project(x + step_size * sign(gradient of the loss of the true class)),

or, towards a target class, x <- project(x - step_size * sign(gradient of the target's loss)). Pixels are numbers
from 0 to 1; normalisation is a part of the model that is attacked.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headgrid.axes import Images, Labels, Logits
from headgrid.data import Normalization
from headgrid.data.random_stream import Purpose, random_stream


@dataclass(frozen=True)
class Untargeted:
    """Away from the true class, wherever to."""

    name: ClassVar[str] = "PGD"
    sign: ClassVar[int] = 1
    """Uphill on the loss of the class aimed at."""

    def aims(self, logits: Logits, labels: Labels, random: torch.Generator) -> Labels:
        """The class whose loss is changed, for each image."""
        return labels

    def reached(self, guesses: Labels, labels: Labels, aims: Labels) -> Tensor:
        return guesses != labels


@dataclass(frozen=True)
class RandomTarget:
    """Towards a class drawn from the wrong ones."""

    name: ClassVar[str] = "targeted PGD"
    sign: ClassVar[int] = -1

    def aims(self, logits: Logits, labels: Labels, random: torch.Generator) -> Labels:
        num_classes = logits.shape[1]
        steps = torch.randint(1, num_classes, labels.shape, generator=random).to(labels.device)
        return (labels + steps) % num_classes

    def reached(self, guesses: Labels, labels: Labels, aims: Labels) -> Tensor:
        return guesses == aims


@dataclass(frozen=True)
class LeastLikelyTarget:
    """Towards the wrong class that the model holds for the least likely."""

    name: ClassVar[str] = "targeted PGD"
    sign: ClassVar[int] = -1

    def aims(self, logits: Logits, labels: Labels, random: torch.Generator) -> Labels:
        return logits.scatter(1, labels[:, None], torch.inf).argmin(dim=1)

    def reached(self, guesses: Labels, labels: Labels, aims: Labels) -> Tensor:
        return guesses == aims


@dataclass(frozen=True)
class RandomStart:
    """Anywhere in the box, uniformly."""

    def draw(self, pixels: Images, epsilon: float, random: torch.Generator) -> Images:
        uniform = torch.rand(pixels.shape, generator=random, dtype=pixels.dtype)
        return ((2 * uniform - 1) * epsilon).to(pixels.device)


@dataclass(frozen=True)
class ImageStart:
    """The image itself."""

    def draw(self, pixels: Images, epsilon: float, random: torch.Generator) -> Images:
        return torch.zeros_like(pixels)


@dataclass(frozen=True)
class PGD:
    """An attack, with every number that decides it."""

    goal: Untargeted | RandomTarget | LeastLikelyTarget = field(default_factory=Untargeted)
    epsilon: float = 8 / 255
    """The largest change of a pixel, L-infinity, on a scale from 0 to 1."""
    step_size: float = 2 / 255
    num_steps: int = 20
    start: RandomStart | ImageStart = field(default_factory=RandomStart)
    seed: int = 0
    """Of random starts and random targets."""

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon <= 1:
            raise ValueError(f"epsilon is a change of pixels from 0 to 1, so it cannot be {self.epsilon}")
        if not 0 < self.step_size <= 1:
            raise ValueError(f"step_size must be from (0, 1], not {self.step_size}")
        if self.num_steps < 1:
            raise ValueError(
                f"PGD takes at least one step, so the number of its iterations cannot be {self.num_steps}"
            )

    @property
    def name(self) -> str:
        return self.goal.name

    def begin(self) -> "Attack":
        return Attack(self)


class Attack:
    """An attack on one batch after the other; the random numbers of an image do not depend on its batch."""

    def __init__(self, config: PGD) -> None:
        self.config = config
        # Two streams, so that an image gets the same numbers in a batch of any size.
        self._starts = random_stream(config.seed, Purpose.ATTACK, 0)
        self._targets = random_stream(config.seed, Purpose.ATTACK, 1)

    def aims(self, logits: Logits, labels: Labels) -> Labels:
        """The class that each image is driven away from, or towards; ``logits`` are those without the attack."""
        if logits.shape[1] < 2:
            raise ValueError("a model that knows a single class cannot be attacked: there is no wrong answer")
        return self.config.goal.aims(logits, labels, self._targets)

    def perturbation(
        self,
        model: Callable[[Images], Logits],
        pixels: Images,
        aims: Labels,
        after_step: Callable[[], None] | None = None,
    ) -> Images:
        """What to add to ``pixels``, which the model takes as they are: numbers from 0 to 1.

        No element is larger than epsilon, and with it no pixel is below 0 or above 1, exactly in the type of the
        pixels. Nothing but the images gets a gradient.
        """
        config = self.config
        lowest, highest = (-pixels).clamp(min=-config.epsilon), (1 - pixels).clamp(max=config.epsilon)
        change = config.start.draw(pixels, config.epsilon, self._starts).clamp(lowest, highest)
        for _ in range(config.num_steps):
            with torch.enable_grad():
                change.requires_grad_()
                # A sum, so that an image's gradient does not shrink with the size of its batch.
                loss = F.cross_entropy(model(pixels + change), aims, reduction="sum")
                if not loss.requires_grad:
                    raise ValueError(
                        "the model gives no gradient with respect to its images, and PGD follows it: "
                        "leave the attacks out, or let the model compute without torch.no_grad"
                    )
                (gradient,) = torch.autograd.grad(loss, change)
            # Where a model overflows the gradient is nan, its sign for torch 0, and the image stays where it is.
            change = change.detach() + config.goal.sign * config.step_size * gradient.sign()
            change = change.clamp(lowest, highest)
            if after_step is not None:
                after_step()
        return change


@contextmanager
def frozen(model: nn.Module) -> Iterator[None]:
    """No parameter asks for gradients for a while, which saves their computation; afterwards the same ones do."""
    asking = [parameter for parameter in model.parameters() if parameter.requires_grad]
    for parameter in asking:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in asking:
            parameter.requires_grad_(True)


def to_pixels(images: Images, normalization: Normalization) -> Images:
    """Normalised images as numbers from 0 to 1."""
    mean, std = _per_channel(images, normalization)
    return (images * std + mean).clamp(0, 1)


def from_pixels(pixels: Images, normalization: Normalization) -> Images:
    """Back again; gradients go through."""
    mean, std = _per_channel(pixels, normalization)
    return (pixels - mean) / std


def _per_channel(images: Images, normalization: Normalization) -> tuple[Tensor, Tensor]:
    if len(normalization.mean) != images.shape[1]:
        raise ValueError(
            f"the normalization has {len(normalization.mean)} channels and the images have {images.shape[1]}"
        )
    mean, std = (
        torch.tensor(values, device=images.device, dtype=images.dtype).view(-1, 1, 1)
        for values in (normalization.mean, normalization.std)
    )
    return mean, std
