"""The reproduction report, "[Re]: On the Relationship between Self-Attention and Convolutional Layers".

Table 2: sixteen heads on 256 channels, in the report's own block. Table 3: its ViT; the rows with hierarchical
attention have a file of their own, `report_hierarchical.py`. The recipes follow table 4; what
that leaves out follows the code: Nesterov momentum, weight decay on every parameter. Where the two differ (batch,
warm-up by epochs) the table counts. As everywhere here, 5,000 training images are put aside to select the model.
"""

from headgrid.attention import (
    DropoutPerBatch,
    DropoutPerImage,
    FullHeads,
    MergedValues,
    MultiheadAttentionConfig,
    ProjectedValues,
    TokenAttentionConfig,
)
from headgrid.data import Cifar10
from headgrid.experiments.experiment import Experiment
from headgrid.experiments.preset import Preset
from headgrid.layers import MeanOfTokens, NoFinalNorm, RandomClassTokenConfig
from headgrid.models import FullyAttentionalConfig, ResNetStemConfig, ViTConfig
from headgrid.scores import ContentConfig, LearnedPositionConfig, QuadraticConfig, QueryPositionConfig
from headgrid.stacks import ReportBlockConfig, ReportViTBlockConfig
from headgrid.training.config import TrainingConfig
from headgrid.training.optimizer import SGD
from headgrid.training.schedule import Cosine

REPORT = "reproduction report, table 2"
REPORT_HIERARCHICAL = "reproduction report, table 3"


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


def report_vit() -> Experiment:
    """`headgrid train report-vit`

    Report: 0.843. Ours: not run in size paper yet.

    A ResNet's start, patches of its features, nine heads as wide as a token. The report draws its class token at
    random for every image, also to evaluate; here it is zero then, so that an image has one class.
    """
    return Experiment(
        name="report-vit",
        model=ViTConfig(
            dim=400,
            num_layers=6,
            stem=ResNetStemConfig(patch_size=2, width=64, num_blocks=2),
            class_token=RandomClassTokenConfig(),
            attention=TokenAttentionConfig(num_heads=9, heads=FullHeads(), bias=False),
            block=ReportViTBlockConfig(hidden_dim=512, activation="gelu", norm_epsilon=1e-5),
            pooling=MeanOfTokens(),
            final_norm=NoFinalNorm(),
            image_size=(32, 32),
            num_classes=10,
        ),
        data=Cifar10(),
        training=TrainingConfig(
            num_epochs=100,
            batch_size=32,
            optimizer=SGD(learning_rate=0.01, momentum=0.9, weight_decay=1e-4, nesterov=True),
            schedule=Cosine(warmup_fraction=5 / 100),
        ),
    )


def learned_content_report_block() -> Experiment:
    """`headgrid train learned-content-report-block`

    Report: no number for this block. Ours: not run in size paper yet.

    As `learned-content`, in the report's block instead of the paper's: what `learned-content-hierarchical` has six
    times over. The report compares that with the number of the paper's block.
    """
    attention = MultiheadAttentionConfig(
        num_heads=9,
        scores=(QueryPositionConfig(), ContentConfig()),
        values=MergedValues(),
        query_key_bias=False,
        dropout=DropoutPerImage(0.1),
    )
    return _in_the_report_block("learned-content-report-block", attention, dim=400, hidden_dim=512)


def _sixteen_heads(name: str, attention: MultiheadAttentionConfig) -> Experiment:
    return _in_the_report_block(name, attention, dim=256, hidden_dim=400)


def _in_the_report_block(name: str, attention: MultiheadAttentionConfig, dim: int, hidden_dim: int) -> Experiment:
    return Experiment(
        name=name,
        model=FullyAttentionalConfig(
            dim=dim,
            num_layers=6,
            pixel_concatenation=2,
            attention=attention,
            block=ReportBlockConfig(hidden_dim=hidden_dim, activation="relu", norm_epsilon=1e-5),
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
    Preset(learned_content_report_block, "reproduction report, code", None, "the same with 9 heads"),
    Preset(report_vit, REPORT_HIERARCHICAL, 0.843, "ViT behind the start of a ResNet"),
)
