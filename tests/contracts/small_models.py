"""One small model of each kind, for which every test of this folder is repeated. New families add theirs here."""

from dataclasses import dataclass, replace
from typing import Any

from headgrid.attention import (
    DropoutPerBatch,
    DropoutPerImage,
    FullHeads,
    GatedPositionalAttentionConfig,
    MultiheadAttentionConfig,
    PairwiseAttentionConfig,
    PatchwiseAttentionConfig,
    ProjectedValues,
    SplitHeads,
    TokenAttentionConfig,
)
from headgrid.encodings import SinusoidalAbsoluteConfig
from headgrid.layers import (
    MeanOfPatches,
    MeanOfTokens,
    NoClassTokenConfig,
    NoFinalNorm,
    NormAfterPooling,
    RandomClassTokenConfig,
    SinusoidalPositionsConfig,
)
from headgrid.models import (
    FullyAttentionalConfig,
    HierarchicalSANConfig,
    PatchStemConfig,
    ResNetConfig,
    ResNetStemConfig,
    SANConfig,
    ViTConfig,
)
from headgrid.ops import Footprint
from headgrid.scores import (
    AbsoluteContentConfig,
    ContentConfig,
    GeneralizedQuadraticConfig,
    LearnedPositionConfig,
    QuadraticConfig,
    QueryPositionConfig,
    TransformerXLConfig,
)
from headgrid.stacks import (
    Hierarchical,
    KeptKey,
    OwnKeys,
    OwnWeights,
    PreNormBlockConfig,
    ReportBlockConfig,
    ReportViTBlockConfig,
    SharedWeights,
)


@dataclass(frozen=True)
class SmallModel:
    """A config, and what its model promises."""

    config: Any
    image_size: tuple[int, int] = (8, 12)
    """Rows and columns of the images that it is tried with, never square."""
    accepts: tuple[tuple[int, int], ...] = ((6, 10), (4, 4), (14, 18))
    """Other sizes that it takes."""
    refuses: tuple[tuple[int, int], ...] = ()
    """Sizes that it refuses with a sentence."""
    sums_to_one: bool = True
    """Whether the weights of a query sum to one."""
    num_applications: int | None = None
    """How often attention is applied, where a layer is applied several times."""


def _attentional(*scores, num_heads=2, dropout=None, **options):
    dropout = DropoutPerImage() if dropout is None else dropout
    attention = MultiheadAttentionConfig(num_heads=num_heads, scores=scores, dropout=dropout, **options)
    return FullyAttentionalConfig(dim=8, num_layers=2, image_size=(8, 12), attention=attention)


def _san(attention):
    return SANConfig(
        attention=attention,
        blocks_per_stage=(1, 1),
        channels=(32, 64),
        footprints=(3, 5),
        poolings=(2, 2),
        stem_channels=8,
        num_classes=10,
    )


def _hierarchical(config, weights=None, key=None):
    return replace(config, stack=Hierarchical(weights or SharedWeights(), key or KeptKey()))


def _hierarchical_san(attention, **options):
    return HierarchicalSANConfig(
        attention=attention(footprint=Footprint(3), bias=False), channels=32, num_passes=2, **options
    )


def _vit(**options):
    sizes = {"dim": 8, "num_layers": 2, "image_size": (8, 12), "num_classes": 10}
    parts = {"stem": PatchStemConfig(2), "block": PreNormBlockConfig(hidden_dim=12)}
    return ViTConfig(**sizes, **{**parts, "attention": TokenAttentionConfig(2), **options})


def _report_vit(**options):
    return _vit(
        stem=ResNetStemConfig(width=4, num_blocks=1),
        class_token=RandomClassTokenConfig(),
        attention=TokenAttentionConfig(2, FullHeads(), bias=False),
        block=ReportViTBlockConfig(hidden_dim=12),
        pooling=MeanOfTokens(),
        final_norm=NoFinalNorm(),
        **options,
    )


NO_TABLES = {"refuses": ((7, 12),)}
TABLES = {"accepts": ((6, 10), (4, 4)), "refuses": ((10, 12), (8, 14), (7, 12))}
ONE_SIZE = {"accepts": (), "refuses": ((6, 10), (10, 12), (12, 8))}

SMALL_MODELS = {
    "quadratic": SmallModel(_attentional(QuadraticConfig(), dropout=DropoutPerBatch()), **NO_TABLES),
    "generalized": SmallModel(_attentional(GeneralizedQuadraticConfig(), dropout=DropoutPerBatch()), **NO_TABLES),
    "learned": SmallModel(_attentional(LearnedPositionConfig()), **TABLES),
    "query-position": SmallModel(_attentional(QueryPositionConfig()), **TABLES),
    "query-position + content": SmallModel(_attentional(QueryPositionConfig(), ContentConfig()), **TABLES),
    "equation 8": SmallModel(_attentional(TransformerXLConfig()), **TABLES),
    "absolute": SmallModel(_attentional(AbsoluteContentConfig(SinusoidalAbsoluteConfig())), **NO_TABLES),
    "report, split heads": SmallModel(
        replace(
            _attentional(
                QueryPositionConfig(),
                ContentConfig(),
                num_heads=4,
                heads=SplitHeads(),
                values=ProjectedValues(),
                query_key_bias=False,
            ),
            block=ReportBlockConfig(),
        ),
        **TABLES,
    ),
    "gated": SmallModel(
        FullyAttentionalConfig(
            dim=8, num_layers=2, image_size=(8, 12), attention=GatedPositionalAttentionConfig(num_heads=4)
        ),
        **NO_TABLES,
    ),
    "resnet": SmallModel(
        ResNetConfig(blocks_per_stage=(1, 1), width=4), accepts=((7, 9), (4, 4), (14, 18)), sums_to_one=False
    ),
    "san pairwise": SmallModel(
        _san(PairwiseAttentionConfig()), accepts=((7, 9), (4, 4), (14, 18)), refuses=((3, 8),)
    ),
    "san patchwise": SmallModel(
        _san(PatchwiseAttentionConfig()),
        accepts=((7, 9), (4, 4), (14, 18)),
        refuses=((3, 8),),
        sums_to_one=False,
    ),
    "hierarchical content": SmallModel(
        _hierarchical(_attentional(QueryPositionConfig(), ContentConfig())), num_applications=2, **TABLES
    ),
    "hierarchical content, own weights": SmallModel(
        _hierarchical(_attentional(QueryPositionConfig(), ContentConfig()), OwnWeights()), **TABLES
    ),
    "hierarchical quadratic": SmallModel(
        _hierarchical(_attentional(QuadraticConfig(), dropout=DropoutPerBatch())), num_applications=2, **NO_TABLES
    ),
    "hierarchical san": SmallModel(
        _hierarchical(replace(_san(PairwiseAttentionConfig()), blocks_per_stage=(1, 2))),
        accepts=((7, 9), (4, 4), (14, 18)),
        refuses=((3, 8),),
        num_applications=3,
    ),
    "ha-san pairwise": SmallModel(
        _hierarchical_san(PairwiseAttentionConfig), accepts=((7, 9), (1, 1), (14, 18)), num_applications=4
    ),
    "ha-san patchwise, own keys": SmallModel(
        _hierarchical_san(PatchwiseAttentionConfig, stack=Hierarchical(key=OwnKeys()), pixel_concatenation=2),
        accepts=((6, 10), (2, 2)),
        refuses=((7, 12),),
        sums_to_one=False,
        num_applications=4,
    ),
    "vit": SmallModel(_vit(), **ONE_SIZE),
    "vit, mean of patches": SmallModel(
        _vit(
            class_token=NoClassTokenConfig(),
            positions=SinusoidalPositionsConfig(),
            pooling=MeanOfPatches(),
            final_norm=NormAfterPooling(),
        ),
        **ONE_SIZE,
    ),
    "report vit": SmallModel(_report_vit(), **ONE_SIZE),
    "hierarchical report vit": SmallModel(_report_vit(stack=Hierarchical()), num_applications=2, **ONE_SIZE),
    "hierarchical vit, own weights": SmallModel(_vit(stack=Hierarchical(OwnWeights())), **ONE_SIZE),
}
