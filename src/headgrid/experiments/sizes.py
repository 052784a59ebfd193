"""Smaller sizes of an experiment: functions from experiment to experiment.

`laptop` is the same kind of network, narrower and shorter, for half an hour on two cores. It learns the same
images, but CIFAR-10 takes the place of ImageNet, and other folders of large images are reduced to 64 x 64.
`tiny` learns from the embedded images within a minute. What tells the presets apart stays: kinds of scores and
relations, number of heads, footprints, block, optimizer.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from headgrid.attention import MultiheadAttentionConfig, SplitHeads
from headgrid.data import Cifar10, Embedded, ImageFolder
from headgrid.evaluation.accuracy import Precision
from headgrid.experiments.experiment import Experiment, ModelConfig, for_data
from headgrid.experiments.hardware import fast_precision
from headgrid.experiments.san import IMAGENET
from headgrid.models import (
    BottleneckConfig,
    CifarStemConfig,
    FullyAttentionalConfig,
    HierarchicalSANConfig,
    ResNetConfig,
    ResNetStemConfig,
    SANConfig,
    ViTConfig,
)
from headgrid.scores import GeneralizedQuadraticConfig, LearnedPositionConfig, QuadraticConfig
from headgrid.stacks import PaperBlockConfig
from headgrid.training.optimizer import AdamW
from headgrid.training.schedule import MultiStep


@dataclass(frozen=True)
class Reduction:
    """The sizes that a smaller experiment has."""

    width_divisor: int
    """What the channels of a pixel and the width of the feed-forward part are divided by."""
    num_layers: int
    pixel_concatenation: int
    """Side of the cells whose pixels are concatenated, and of a ViT's patches: larger ones, fewer of them."""
    rate_factor: float
    """What the learning rate of attention models is multiplied by: a short run cannot warm up for long."""
    largest_batch: int
    """Larger batches are cut to this: a short run needs its steps."""
    batch_exponent: float
    """A batch that is cut to a part of its size takes the rate times that part to this power: 1 is in proportion,
    and 0 leaves the rate alone, for runs of so few steps that each has to go far."""
    resnet_width: int
    resnet_blocks_per_stage: tuple[int, ...]
    bottleneck_width: int
    """Width of ResNets that are counterparts of SANs; such a network ends as wide as they."""
    san_width_divisor: int
    san_stages: int
    """Stages of a SAN that are kept, from the first one on."""
    num_epochs: int
    num_content_epochs: int
    """Epochs of models whose attention depends on the image, as one takes several times as long, and of the ResNets
    beside SANs."""
    num_folder_epochs: int
    """Epochs on a folder of images, which holds fewer than CIFAR-10."""


LAPTOP = Reduction(
    width_divisor=4,
    num_layers=4,
    pixel_concatenation=4,
    rate_factor=0.3,
    largest_batch=100,
    batch_exponent=1.0,
    resnet_width=32,
    resnet_blocks_per_stage=(1, 1, 1, 1),
    bottleneck_width=8,
    san_width_divisor=4,
    san_stages=4,
    num_epochs=12,
    num_content_epochs=6,
    num_folder_epochs=15,
)

TINY = Reduction(
    width_divisor=12,
    num_layers=2,
    pixel_concatenation=4,
    rate_factor=1.0,
    largest_batch=100,
    batch_exponent=0.0,
    resnet_width=8,
    resnet_blocks_per_stage=(1, 1, 1),
    bottleneck_width=8,
    san_width_divisor=4,
    san_stages=3,
    num_epochs=4,
    num_content_epochs=8,
    num_folder_epochs=4,
)

SMALL = 64
"""Rows and columns of a photograph in size laptop."""

TINY_DATA = Embedded(num_train=2000, num_validation=500, num_test=1000)


def paper(experiment: Experiment) -> Experiment:
    """As published."""
    return replace(experiment, size="paper")


def laptop(experiment: Experiment) -> Experiment:
    """The same kind of network, narrower and shorter; in bfloat16 where the hardware gains from it."""
    return replace(reduce(_on_small_images(experiment), LAPTOP, fast_precision()), size="laptop")


def tiny(experiment: Experiment) -> Experiment:
    """Small enough to learn the embedded images within a minute."""
    return replace(reduce(for_data(experiment, TINY_DATA), TINY, "float32"), size="tiny")


def reduce(experiment: Experiment, to: Reduction, precision: Precision) -> Experiment:
    """A smaller network without dropout (it is too small to memorise its images), trained for fewer epochs."""
    shorter = shorten(experiment, _num_epochs(experiment, to))
    training = shorter.training
    batch_size = min(training.batch_size, to.largest_batch)
    optimizer = replace(
        training.optimizer, learning_rate=training.optimizer.learning_rate * _rate_factor(experiment, to)
    )
    training = replace(training, batch_size=batch_size, optimizer=optimizer, precision=precision)
    return replace(shorter, model=_reduce_model(experiment.model, to), training=training)


def _on_small_images(experiment: Experiment) -> Experiment:
    """ImageNet becomes CIFAR-10, of which a SAN's first stage keeps every pixel; other folders' images shrink."""
    if experiment.data == IMAGENET:
        model = experiment.model
        if isinstance(model, SANConfig):
            model = replace(model, poolings=(1, *model.poolings[1:]))
        return for_data(replace(experiment, model=model), Cifar10())
    if not isinstance(experiment.data, ImageFolder) or max(experiment.data.image_size) <= SMALL:
        return experiment
    data = replace(experiment.data, image_size=(SMALL, SMALL))
    return replace(experiment, data=data, model=replace(experiment.model, image_size=data.image_size))


def _num_epochs(experiment: Experiment, to: Reduction) -> int:
    if isinstance(experiment.data, ImageFolder):
        return to.num_folder_epochs
    return to.num_content_epochs if _takes_long(experiment.model) else to.num_epochs


def _rate_factor(experiment: Experiment, to: Reduction) -> float:
    """What a learning rate is multiplied by."""
    model, training = experiment.model, experiment.training
    if isinstance(model, SANConfig) and isinstance(training.optimizer, AdamW):
        return float(to.san_width_divisor)  # the narrower a network, the larger the steps of Adam that it takes
    if isinstance(model, ViTConfig) and isinstance(training.optimizer, AdamW):
        return 1.0  # as much as the narrower network asks for, its smaller batches take back
    factor = min(1.0, to.largest_batch / training.batch_size) ** to.batch_exponent
    return factor * to.rate_factor if isinstance(model, FullyAttentionalConfig) else factor


def shorten(experiment: Experiment, num_epochs: int) -> Experiment:
    """Another number of epochs; epochs that the schedule names move in proportion."""
    training = experiment.training
    schedule = training.schedule
    if isinstance(schedule, MultiStep):
        moved = (round(epoch * num_epochs / training.num_epochs) for epoch in schedule.epochs)
        schedule = replace(schedule, epochs=tuple(sorted({max(1, epoch) for epoch in moved})))
    return replace(experiment, training=replace(training, num_epochs=num_epochs, schedule=schedule))


def _takes_long(model: ModelConfig) -> bool:
    """Whether attention weights depend on the image, or the model stands beside one where they do."""
    if isinstance(model, ResNetConfig):
        return isinstance(model.block, BottleneckConfig)
    if not isinstance(model, FullyAttentionalConfig):
        return True
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
        case SANConfig():
            stages = slice(to.san_stages)
            return replace(
                model,
                stem_channels=narrowed(model.stem_channels, to.san_width_divisor),
                channels=tuple(narrowed(width, to.san_width_divisor) for width in model.channels[stages]),
                blocks_per_stage=model.blocks_per_stage[stages],
                footprints=model.footprints[stages],
                poolings=model.poolings[stages],
            )
        case ViTConfig():
            stem = replace(model.stem, patch_size=to.pixel_concatenation)
            if isinstance(stem, ResNetStemConfig):
                stem = replace(stem, width=narrowed(stem.width, to.width_divisor, multiple_of=8))
            return replace(
                model,
                dim=narrowed(model.dim, to.width_divisor, _width_of_heads(model)),
                num_layers=to.num_layers,
                stem=stem,
                block=replace(model.block, hidden_dim=narrowed(model.block.hidden_dim, to.width_divisor)),
            )
        case HierarchicalSANConfig():
            return replace(
                model,
                channels=narrowed(model.channels, to.san_width_divisor),
                num_passes=min(model.num_passes, to.num_layers),
                # Attention-only models have cells of 2 as published; this one starts from single pixels.
                pixel_concatenation=to.pixel_concatenation // 2,
            )
        case ResNetConfig(block=BottleneckConfig()):
            return replace(model, width=to.bottleneck_width, stem=CifarStemConfig())
        case ResNetConfig():
            return replace(model, width=to.resnet_width, blocks_per_stage=to.resnet_blocks_per_stage)


def _width_of_heads(model: ViTConfig) -> int:
    """What the width of a token has to be a multiple of, if its heads share it."""
    return math.lcm(32, model.attention.num_heads) if isinstance(model.attention.heads, SplitHeads) else 32


def narrowed(width: int, divisor: int, multiple_of: int = 32) -> int:
    """A width divided and rounded to a multiple of 32, which matrix units like: 400 by 4 gives 96."""
    return max(1, round(width / divisor / multiple_of)) * multiple_of


SIZES: dict[str, Callable[[Experiment], Experiment]] = {"paper": paper, "laptop": laptop, "tiny": tiny}
