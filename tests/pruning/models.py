"""A small model of each kind that can lose heads, in float64, all parameters drawn at random; images not square."""

from typing import Any

import torch

from headgrid.attention import (
    DropoutPerImage,
    FullHeads,
    GatedPositionalAttentionConfig,
    GroupedValues,
    HeadsOfWidth,
    MergedValues,
    MultiheadAttentionConfig,
    ProjectedValues,
    SplitHeads,
    TokenAttentionConfig,
)
from headgrid.encodings import SinusoidalAbsoluteConfig
from headgrid.layers import MeanOfTokens
from headgrid.models import FullyAttentionalConfig, PatchStemConfig, ViTConfig
from headgrid.scores import (
    AbsoluteContentConfig,
    ContentConfig,
    GeneralizedQuadraticConfig,
    GridCenters,
    LearnedPositionConfig,
    QuadraticConfig,
    QueryPositionConfig,
    TransformerXLConfig,
)
from headgrid.stacks import Hierarchical, KeptKey, OwnKeys, OwnWeights, ReportBlockConfig, ReportViTBlockConfig
from headgrid.theory import ConvolutionalInitialization

SIZE = (8, 12)
NUM_HEADS = 4


def attentional(*scores, heads=None, values=None, attention=None, **options) -> FullyAttentionalConfig:
    if attention is None:
        attention = MultiheadAttentionConfig(
            num_heads=NUM_HEADS,
            scores=scores,
            heads=heads or FullHeads(),
            values=values or MergedValues(),
            dropout=DropoutPerImage(),
        )
    return FullyAttentionalConfig(
        dim=8, num_layers=3, image_size=SIZE, num_classes=5, attention=attention, **options
    )


def vit(heads=None, **options) -> ViTConfig:
    return ViTConfig(
        dim=8,
        num_layers=3,
        stem=PatchStemConfig(patch_size=2),
        attention=TokenAttentionConfig(NUM_HEADS, heads or SplitHeads()),
        image_size=SIZE,
        num_classes=5,
        **options,
    )


CONTENT = (QueryPositionConfig(), ContentConfig())

CONFIGS: dict[str, Any] = {
    "quadratic": attentional(QuadraticConfig()),
    "on a grid": attentional(QuadraticConfig(GridCenters()), initialization=ConvolutionalInitialization()),
    "generalized": attentional(GeneralizedQuadraticConfig()),
    "learned": attentional(LearnedPositionConfig(bias=True)),
    "query-position": attentional(QueryPositionConfig(), block=ReportBlockConfig()),
    "query-position + content": attentional(*CONTENT),
    "equation 8": attentional(TransformerXLConfig()),
    "absolute + quadratic": attentional(AbsoluteContentConfig(SinusoidalAbsoluteConfig()), QuadraticConfig()),
    "projected": attentional(*CONTENT, values=ProjectedValues(bias=True)),
    "split": attentional(*CONTENT, heads=SplitHeads(), values=ProjectedValues()),
    "of some width": attentional(LearnedPositionConfig(), heads=HeadsOfWidth(6), values=ProjectedValues(bias=True)),
    "grouped": attentional(QuadraticConfig(), values=GroupedValues(2)),
    "gated": attentional(attention=GatedPositionalAttentionConfig(NUM_HEADS)),
    "gated, learned": attentional(
        attention=GatedPositionalAttentionConfig(
            NUM_HEADS, LearnedPositionConfig(), heads=SplitHeads(), values=ProjectedValues(bias=True)
        )
    ),
    "vit": vit(),
    "report's vit": vit(FullHeads(), block=ReportViTBlockConfig(hidden_dim=12), pooling=MeanOfTokens()),
}

HIERARCHICAL: dict[str, Any] = {
    "shared weights, kept key": attentional(*CONTENT, stack=Hierarchical()),
    "shared weights, own keys": attentional(*CONTENT, stack=Hierarchical(key=OwnKeys())),
    "own weights, kept key": attentional(*CONTENT, stack=Hierarchical(OwnWeights(), KeptKey())),
    "position alone": attentional(QuadraticConfig(), stack=Hierarchical()),
    "hierarchical vit": vit(stack=Hierarchical()),
}


def random_model(config) -> Any:
    """Norms and biases are drawn as well: what starts at zero or one would hide mistakes."""
    torch.manual_seed(0)
    model = config.build().double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    return model


def random_images(number: int = 3) -> torch.Tensor:
    torch.manual_seed(1)
    return torch.randn(number, 3, *SIZE, dtype=torch.float64)


def random_batches(num_images: int = 6, batch_size: int = 3) -> list[tuple[torch.Tensor, torch.Tensor]]:
    images, labels = random_images(num_images), torch.arange(num_images) % 5
    return list(zip(images.split(batch_size), labels.split(batch_size), strict=True))
