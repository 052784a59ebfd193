"""Smaller sizes of an experiment: functions from experiment to experiment.

`laptop` is the same kind of network on the same images, narrower and shorter, for half an hour on two cores;
`tiny` learns from the embedded images within a minute. What tells the presets apart stays: kinds of scores, number
of heads, block, optimizer.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from headgrid.attention import MultiheadAttentionConfig
from headgrid.data import Embedded
from headgrid.evaluation.accuracy import Precision
from headgrid.experiments.experiment import Experiment, ModelConfig, for_data
from headgrid.experiments.hardware import fast_precision
from headgrid.models import FullyAttentionalConfig, ResNetConfig
from headgrid.scores import GeneralizedQuadraticConfig, LearnedPositionConfig, QuadraticConfig
from headgrid.stacks import PaperBlockConfig
from headgrid.training.schedule import MultiStep


@dataclass(frozen=True)
class Reduction:
    """The sizes that a smaller experiment has."""

    width_divisor: int
    """What the channels of a pixel and the width of the feed-forward part are divided by."""
    num_layers: int
    pixel_concatenation: int
    """Side of the cells whose pixels are concatenated: larger cells, fewer pixels in the attention."""
    rate_factor: float
    """What the learning rate of attention models is multiplied by: a short run cannot warm up for long."""
    resnet_width: int
    resnet_blocks_per_stage: tuple[int, ...]
    num_epochs: int
    num_content_epochs: int
    """Epochs of models whose attention depends on the image; one takes several times as long."""


LAPTOP = Reduction(
    width_divisor=4,
    num_layers=4,
    pixel_concatenation=4,
    rate_factor=0.3,
    resnet_width=32,
    resnet_blocks_per_stage=(1, 1, 1, 1),
    num_epochs=12,
    num_content_epochs=6,
)

TINY = Reduction(
    width_divisor=12,
    num_layers=2,
    pixel_concatenation=4,
    rate_factor=1.0,
    resnet_width=8,
    resnet_blocks_per_stage=(1, 1, 1),
    num_epochs=4,
    num_content_epochs=4,
)

TINY_DATA = Embedded(num_train=2000, num_validation=500, num_test=1000)


def paper(experiment: Experiment) -> Experiment:
    """As published."""
    return replace(experiment, size="paper")


def laptop(experiment: Experiment) -> Experiment:
    """The same kind of network, narrower and shorter; in bfloat16 where the hardware gains from it."""
    return replace(reduce(experiment, LAPTOP, fast_precision()), size="laptop")


def tiny(experiment: Experiment) -> Experiment:
    """Small enough to learn the embedded images within a minute."""
    return replace(reduce(for_data(experiment, TINY_DATA), TINY, "float32"), size="tiny")


def reduce(experiment: Experiment, to: Reduction, precision: Precision) -> Experiment:
    """A smaller network without dropout (it is too small to memorise its images), trained for fewer epochs."""
    shorter = shorten(experiment, to.num_content_epochs if _has_content(experiment.model) else to.num_epochs)
    training = replace(shorter.training, precision=precision)
    if isinstance(experiment.model, FullyAttentionalConfig):
        optimizer = training.optimizer
        slower = replace(optimizer, learning_rate=optimizer.learning_rate * to.rate_factor)
        training = replace(training, optimizer=slower)
    return replace(shorter, model=_reduce_model(experiment.model, to), training=training)


def shorten(experiment: Experiment, num_epochs: int) -> Experiment:
    """Another number of epochs; epochs that the schedule names move in proportion."""
    training = experiment.training
    schedule = training.schedule
    if isinstance(schedule, MultiStep):
        moved = (round(epoch * num_epochs / training.num_epochs) for epoch in schedule.epochs)
        schedule = replace(schedule, epochs=tuple(sorted({max(1, epoch) for epoch in moved})))
    return replace(experiment, training=replace(training, num_epochs=num_epochs, schedule=schedule))


def _has_content(model: ModelConfig) -> bool:
    """Whether attention weights depend on the image."""
    if not isinstance(model, FullyAttentionalConfig):
        return False
    positions = (QuadraticConfig, GeneralizedQuadraticConfig, LearnedPositionConfig)
    attention = model.attention
    return not (
        isinstance(attention, MultiheadAttentionConfig)
        and all(isinstance(term, positions) for term in attention.scores)
    )


def _reduce_model(model: ModelConfig, to: Reduction) -> ModelConfig:
    match model:
        case FullyAttentionalConfig():
            block = replace(model.block, hidden_dim=narrowed(model.block.hidden_dim, to.width_divisor))
            if isinstance(block, PaperBlockConfig):
                block = replace(block, dropout=0.0)
            dropout = replace(model.attention.dropout, probability=0.0)
            return replace(
                model,
                dim=narrowed(model.dim, to.width_divisor),
                num_layers=to.num_layers,
                pixel_concatenation=to.pixel_concatenation,
                heads_per_layer=model.heads_per_layer and model.heads_per_layer[: to.num_layers],
                block=block,
                attention=replace(model.attention, dropout=dropout),
            )
        case ResNetConfig():
            return replace(model, width=to.resnet_width, blocks_per_stage=to.resnet_blocks_per_stage)


def narrowed(width: int, divisor: int) -> int:
    """A width divided and rounded to a multiple of 32, which matrix units like: 400 by 4 gives 96."""
    return max(1, round(width / divisor / 32)) * 32


SIZES: dict[str, Callable[[Experiment], Experiment]] = {"paper": paper, "laptop": laptop, "tiny": tiny}
