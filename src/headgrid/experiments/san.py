"""Zhao, Jia and Koltun, "Exploring Self-attention for Image Recognition" (CVPR 2020), and those who used it.

The networks of the paper's table of ImageNet results, their convolutional counterparts, the student report on
Intel's scenes, and the two networks that the reproduction report compares its hierarchical attention with. The
paper's numbers are top-1 accuracies on ImageNet's validation images; `headgrid train san10-pairwise --data FOLDER`
trains on your copy. In size laptop everything learns CIFAR-10, but for the scenes.
"""

from pathlib import Path

from headgrid.attention import PairwiseAttentionConfig, PatchwiseAttentionConfig
from headgrid.data import Cifar10, CropAndFlip, ImageFolder
from headgrid.experiments.experiment import Experiment, ModelConfig
from headgrid.experiments.preset import Preset
from headgrid.models import (
    SAN10,
    SAN15,
    SAN19,
    BottleneckConfig,
    ImageNetStemConfig,
    ResNetConfig,
    SANConfig,
    report_san,
)
from headgrid.training.config import TrainingConfig
from headgrid.training.optimizer import SGD, AdamW
from headgrid.training.schedule import Cosine, MultiStep

PAPER = "Zhao et al. 2020"
REPORT = "reproduction report, table 3"

IMAGENET = ImageFolder(Path("imagenet"))
"""1,000 classes at 224 x 224: random windows and flips to train, the middle of 256 x 256 to evaluate."""
INTEL_SCENES = ImageFolder(Path("intel-scenes"), image_size=(150, 150))
"""Buildings, forest, glacier, mountain, sea and street; it has no `val`, so a tenth of `train` is put aside."""


def san10_pairwise() -> Experiment:
    """`headgrid train san10-pairwise`

    Paper: 0.749. Ours: not run in size paper yet.

    The weight of a pixel follows from the difference between it and the query, and from their positions.
    """
    return _on_imagenet("san10-pairwise", SANConfig(PairwiseAttentionConfig(), SAN10))


def san10_patchwise() -> Experiment:
    """`headgrid train san10-patchwise`

    Paper: 0.771. Ours: not run in size paper yet.

    All weights of a footprint follow from all its pixels at once.
    """
    return _on_imagenet("san10-patchwise", SANConfig(PatchwiseAttentionConfig(), SAN10))


def san15_pairwise() -> Experiment:
    """`headgrid train san15-pairwise`

    Paper: 0.766. Ours: not run in size paper yet.
    """
    return _on_imagenet("san15-pairwise", SANConfig(PairwiseAttentionConfig(), SAN15))


def san15_patchwise() -> Experiment:
    """`headgrid train san15-patchwise`

    Paper: 0.78. Ours: not run in size paper yet.
    """
    return _on_imagenet("san15-patchwise", SANConfig(PatchwiseAttentionConfig(), SAN15))


def san19_pairwise() -> Experiment:
    """`headgrid train san19-pairwise`

    Paper: 0.769. Ours: not run in size paper yet.
    """
    return _on_imagenet("san19-pairwise", SANConfig(PairwiseAttentionConfig(), SAN19))


def san19_patchwise() -> Experiment:
    """`headgrid train san19-patchwise`

    Paper: 0.782. Ours: not run in size paper yet.
    """
    return _on_imagenet("san19-patchwise", SANConfig(PatchwiseAttentionConfig(), SAN19))


def resnet26() -> Experiment:
    """`headgrid train resnet26`

    Paper: 0.736. Ours: not run in size paper yet.

    The convolutional counterpart of SAN10.
    """
    return _on_imagenet("resnet26", _bottlenecks(1, 2, 4, 1))


def resnet38() -> Experiment:
    """`headgrid train resnet38`

    Paper: 0.76. Ours: not run in size paper yet.

    The convolutional counterpart of SAN15.
    """
    return _on_imagenet("resnet38", _bottlenecks(2, 3, 5, 2))


def resnet50() -> Experiment:
    """`headgrid train resnet50`

    Paper: 0.769. Ours: not run in size paper yet.

    The convolutional counterpart of SAN19.
    """
    return _on_imagenet("resnet50", _bottlenecks(3, 4, 6, 3))


def report_san_pairwise() -> Experiment:
    """`headgrid train report-san-pairwise`

    Report: 0.818. Ours: not run in size paper yet.

    SAN10 without its fifth stage, on CIFAR-10 with footprints of 3 x 3.
    """
    return _of_report("report-san-pairwise", report_san(PairwiseAttentionConfig()))


def report_san_patchwise() -> Experiment:
    """`headgrid train report-san-patchwise`

    Report: 0.857. Ours: not run in size paper yet.

    As `report-san-pairwise`; the report prints the same number of parameters for both, which only that one has.
    """
    return _of_report("report-san-patchwise", report_san(PatchwiseAttentionConfig()))


def intel_san15_patchwise() -> Experiment:
    """`headgrid train intel-san15-patchwise`

    Report: 0.87. Ours: not run in size paper yet.

    The student report, "Exploring Self-attention for Image Recognition". It gives batch, rate and epochs and no
    optimizer; AdamW is our choice for a rate of 1e-4.
    """
    return Experiment(
        name="intel-san15-patchwise",
        model=SANConfig(PatchwiseAttentionConfig(), SAN15, image_size=INTEL_SCENES.image_size, num_classes=6),
        data=INTEL_SCENES,
        training=TrainingConfig(
            num_epochs=45,
            batch_size=64,
            optimizer=AdamW(learning_rate=1e-4, weight_decay=1e-4),
            schedule=Cosine(warmup_fraction=0.0),
        ),
    )


def _bottlenecks(*blocks_per_stage: int) -> ResNetConfig:
    return ResNetConfig(
        blocks_per_stage,
        block=BottleneckConfig(),
        stem=ImageNetStemConfig(),
        image_size=IMAGENET.image_size,
        num_classes=1000,
    )


def _on_imagenet(name: str, model: ModelConfig) -> Experiment:
    """The recipe of the paper, for its networks and their counterparts alike."""
    return Experiment(
        name=name,
        model=model,
        data=IMAGENET,
        training=TrainingConfig(
            num_epochs=100,
            batch_size=256,
            optimizer=SGD(learning_rate=0.1, momentum=0.9, weight_decay=1e-4),
            schedule=Cosine(warmup_fraction=0.0),
            label_smoothing=0.1,
        ),
    )


def _of_report(name: str, model: SANConfig) -> Experiment:
    """The report's table 4; flips alone, Nesterov momentum and label smoothing are from its code."""
    return Experiment(
        name=name,
        model=model,
        data=Cifar10(augmentation=CropAndFlip(padding=0)),
        training=TrainingConfig(
            num_epochs=300,
            batch_size=256,
            optimizer=SGD(learning_rate=0.1, momentum=0.9, weight_decay=1e-4, nesterov=True),
            schedule=MultiStep(epochs=(100, 200, 250), factor=0.1),
            label_smoothing=0.1,
        ),
    )


PRESETS = (
    Preset(san10_pairwise, PAPER, 0.749, "pairwise attention", "ImageNet"),
    Preset(san10_patchwise, PAPER, 0.771, "patchwise attention", "ImageNet"),
    Preset(san15_pairwise, PAPER, 0.766, "pairwise attention", "ImageNet"),
    Preset(san15_patchwise, PAPER, 0.780, "patchwise attention", "ImageNet"),
    Preset(san19_pairwise, PAPER, 0.769, "pairwise attention", "ImageNet"),
    Preset(san19_patchwise, PAPER, 0.782, "patchwise attention", "ImageNet"),
    Preset(resnet26, PAPER, 0.736, "beside SAN10", "ImageNet"),
    Preset(resnet38, PAPER, 0.760, "beside SAN15", "ImageNet"),
    Preset(resnet50, PAPER, 0.769, "beside SAN19", "ImageNet"),
    Preset(report_san_pairwise, REPORT, 0.818, "SAN10 for small images"),
    Preset(report_san_patchwise, REPORT, 0.857, "SAN10 for small images"),
    Preset(intel_san15_patchwise, "student report on SAN", 0.87, "SAN15 on scenes", "Intel scenes"),
)
