"""Cordonnier, Loukas and Jaggi, "On the Relationship between Self-Attention and Convolutional Layers" (ICLR 2020).

Table 1 and its relatives, trained as the appendix says (table 4), and as the published code does where that is
silent. One difference is ours: 5,000 of the 50,000 training images are put aside to select the model, so that the
test images are looked at once. The published numbers are the last epoch's on all 50,000.
"""

from headgrid.attention import DropoutPerBatch, DropoutPerImage, MultiheadAttentionConfig
from headgrid.data import Cifar10
from headgrid.experiments.experiment import Experiment
from headgrid.experiments.preset import Preset
from headgrid.models import FullyAttentionalConfig, ResNetConfig
from headgrid.scores import (
    ContentConfig,
    GeneralizedQuadraticConfig,
    LearnedPositionConfig,
    QuadraticConfig,
    QueryPositionConfig,
    ScoreTermConfig,
)
from headgrid.stacks import PaperBlockConfig
from headgrid.training.config import TrainingConfig
from headgrid.training.optimizer import SGD
from headgrid.training.schedule import Cosine, MultiStep

PAPER = "Cordonnier et al. 2020"


def resnet18() -> Experiment:
    """`headgrid train resnet18`

    Paper: 0.938. Ours: not run in size paper yet.

    The convolutional baseline. Its rate falls at fixed epochs, without a warm-up.
    """
    return Experiment(
        name="resnet18",
        model=ResNetConfig(blocks_per_stage=(2, 2, 2, 2), width=64),
        data=Cifar10(),
        training=TrainingConfig(
            num_epochs=300,
            batch_size=100,
            optimizer=SGD(learning_rate=0.1, momentum=0.9, weight_decay=1e-4),
            schedule=MultiStep(epochs=(80, 150, 250), factor=0.1),
        ),
    )


def quadratic() -> Experiment:
    """`headgrid train quadratic`

    Paper: 0.938. Ours: not run in size paper yet.

    Nine heads, each a round Gaussian around a learned centre: what Lemma 1 needs for a 3 x 3 convolution.
    """
    return _attention_only("quadratic", (QuadraticConfig(),), DropoutPerBatch(0.1), ("centers", "spreads"))


def quadratic_generalized() -> Experiment:
    """`headgrid train quadratic-generalized`

    Paper: 0.934. Ours: not run in size paper yet.

    As `quadratic`, with Gaussians that may be stretched in any direction (appendix, equation 16).
    """
    scores = (GeneralizedQuadraticConfig(),)
    return _attention_only("quadratic-generalized", scores, DropoutPerBatch(0.1), ("centers", "spreads"))


def learned() -> Experiment:
    """`headgrid train learned`

    Paper: 0.918. Ours: not run in size paper yet.

    A learned embedding per row shift and column shift; the image plays no part in the scores. The original drops
    attention weights with a mask for each image here, though the weights are the same for all.
    """
    return _attention_only("learned", (LearnedPositionConfig(),), DropoutPerImage(0.1))


def learned_query() -> Experiment:
    """`headgrid train learned-query`

    Paper: no number; the published code has it. Ours: not run in size paper yet.

    The learned embeddings meet the query instead of a vector per head, as in Ramachandran et al. (2019).
    """
    return _attention_only("learned-query", (QueryPositionConfig(),), DropoutPerImage(0.1))


def learned_content() -> Experiment:
    """`headgrid train learned-content`

    Paper: 0.871, as the reproduction report quotes it. Ours: not run in size paper yet.

    As `learned-query`, plus the dot product of query and key.
    """
    return _attention_only("learned-content", (QueryPositionConfig(), ContentConfig()), DropoutPerImage(0.1))


def _attention_only(
    name: str,
    scores: tuple[ScoreTermConfig, ...],
    dropout: DropoutPerBatch | DropoutPerImage,
    without_decay: tuple[str, ...] = (),
) -> Experiment:
    """Six layers of nine heads, 400 wide, on 16 x 16 pixels; the warm-up of 5 % is 15 of the 300 epochs."""
    return Experiment(
        name=name,
        model=FullyAttentionalConfig(
            dim=400,
            num_layers=6,
            pixel_concatenation=2,
            attention=MultiheadAttentionConfig(num_heads=9, scores=scores, dropout=dropout),
            block=PaperBlockConfig(hidden_dim=512, activation="gelu", dropout=0.1, norm_epsilon=1e-12),
        ),
        data=Cifar10(),
        training=TrainingConfig(
            num_epochs=300,
            batch_size=100,
            optimizer=SGD(learning_rate=0.1, momentum=0.9, weight_decay=1e-4, without_decay=without_decay),
            schedule=Cosine(warmup_fraction=0.05),
        ),
    )


PRESETS = (
    Preset(resnet18, f"{PAPER}, table 1", 0.938, "ResNet-18 for small images"),
    Preset(quadratic, f"{PAPER}, table 1", 0.938, "round Gaussian heads"),
    Preset(quadratic_generalized, f"{PAPER}, table 2", 0.934, "Gaussian heads of any shape"),
    Preset(learned, f"{PAPER}, table 1", 0.918, "learned positions"),
    Preset(learned_query, f"{PAPER}, code", None, "learned positions with the query"),
    Preset(
        learned_content, f"{PAPER}, as quoted by the report", 0.871, "learned positions with the query, content"
    ),
)
