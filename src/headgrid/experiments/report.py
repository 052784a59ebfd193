"""The reproduction report, "[Re]: On the Relationship between Self-Attention and Convolutional Layers".

Table 2: sixteen heads on 256 channels, in the report's own block. The recipe follows its table 4; what that leaves
out follows its code: Nesterov momentum, weight decay on every parameter. Where the two differ (batch, warm-up by
epochs) the table counts. As everywhere here, 5,000 training images are put aside to select the model.
"""

from headgrid.attention import (
    DropoutPerBatch,
    DropoutPerImage,
    MergedValues,
    MultiheadAttentionConfig,
    ProjectedValues,
)
from headgrid.data import Cifar10
from headgrid.experiments.experiment import Experiment
from headgrid.experiments.preset import Preset
from headgrid.models import FullyAttentionalConfig
from headgrid.scores import ContentConfig, LearnedPositionConfig, QuadraticConfig, QueryPositionConfig
from headgrid.stacks import ReportBlockConfig
from headgrid.training.config import TrainingConfig
from headgrid.training.optimizer import SGD
from headgrid.training.schedule import Cosine

REPORT = "reproduction report, table 2"


def quadratic_16_heads() -> Experiment:
    """`headgrid train quadratic-16-heads`

    Report: 0.931. Ours: not run in size paper yet.

    Round Gaussian heads on raw pixels: of the three the only one without a value projection.
    """
    attention = MultiheadAttentionConfig(
        num_heads=16,
        scores=(QuadraticConfig(),),
        values=MergedValues(),
        query_key_bias=False,
        dropout=DropoutPerBatch(0.1),
    )
    return _sixteen_heads("quadratic-16-heads", attention)


def learned_16_heads() -> Experiment:
    """`headgrid train learned-16-heads`

    Report: 0.912. Ours: not run in size paper yet.

    Learned positions without the image; each head adds a bias, which its softmax does not see.
    """
    attention = MultiheadAttentionConfig(
        num_heads=16,
        scores=(LearnedPositionConfig(bias=True),),
        values=ProjectedValues(bias=False),
        query_key_bias=False,
        dropout=DropoutPerImage(0.1),
    )
    return _sixteen_heads("learned-16-heads", attention)


def learned_content_16_heads() -> Experiment:
    """`headgrid train learned-content-16-heads`

    Report: 0.856. Ours: not run in size paper yet.

    Learned positions with the query, plus the dot product of query and key.
    """
    attention = MultiheadAttentionConfig(
        num_heads=16,
        scores=(QueryPositionConfig(), ContentConfig()),
        values=ProjectedValues(bias=False),
        query_key_bias=False,
        dropout=DropoutPerImage(0.1),
    )
    return _sixteen_heads("learned-content-16-heads", attention)


def _sixteen_heads(name: str, attention: MultiheadAttentionConfig) -> Experiment:
    return Experiment(
        name=name,
        model=FullyAttentionalConfig(
            dim=256,
            num_layers=6,
            pixel_concatenation=2,
            attention=attention,
            block=ReportBlockConfig(hidden_dim=400, activation="relu", norm_epsilon=1e-5),
        ),
        data=Cifar10(),
        training=TrainingConfig(
            num_epochs=300,
            batch_size=100,
            optimizer=SGD(learning_rate=0.1, momentum=0.9, weight_decay=1e-4, nesterov=True),
            schedule=Cosine(warmup_fraction=15 / 300),
        ),
    )


PRESETS = (
    Preset(quadratic_16_heads, REPORT, 0.931, "round Gaussian heads"),
    Preset(learned_16_heads, REPORT, 0.912, "learned positions"),
    Preset(learned_content_16_heads, REPORT, 0.856, "learned positions with the query, content"),
)
