"""Every kind of score and of values, and small layers made of them with all parameters drawn at random."""

import torch

from headgrid.attention import (
    DropoutPerBatch,
    DropoutPerImage,
    FullHeads,
    HeadsOfWidth,
    MergedValues,
    MultiheadAttention,
    MultiheadAttentionConfig,
    ProjectedValues,
    SplitHeads,
)
from headgrid.encodings import SinusoidalAbsoluteConfig, SinusoidalRelativeConfig
from headgrid.scores import (
    AbsoluteContentConfig,
    ContentConfig,
    GeneralizedQuadraticConfig,
    LearnedPositionConfig,
    QuadraticConfig,
    QueryPositionConfig,
    TransformerXLConfig,
)

POSITION_SCORES = {
    "quadratic": (QuadraticConfig(),),
    "learned": (LearnedPositionConfig(),),
    "learned with bias": (LearnedPositionConfig(size_per_axis=3, bias=True),),
    "quadratic + learned": (QuadraticConfig(), LearnedPositionConfig()),
    "generalized": (GeneralizedQuadraticConfig(),),
    "generalized + learned": (GeneralizedQuadraticConfig(), LearnedPositionConfig()),
}
CONTENT_SCORES = {
    "query-position": (QueryPositionConfig(),),
    "content": (ContentConfig(),),
    "query-position + content": (QueryPositionConfig(), ContentConfig()),
    "equation 8": (TransformerXLConfig(encoding_size=6),),
    "equation 8 with sinusoids": (TransformerXLConfig(SinusoidalRelativeConfig()),),
    "absolute": (AbsoluteContentConfig(),),
    "absolute sinusoids": (AbsoluteContentConfig(SinusoidalAbsoluteConfig()),),
    "absolute + query-position": (AbsoluteContentConfig(), QueryPositionConfig()),
    "quadratic + content": (QuadraticConfig(), ContentConfig()),
    "generalized + content": (GeneralizedQuadraticConfig(), ContentConfig()),
    "learned + query-position": (LearnedPositionConfig(), QueryPositionConfig()),
    "quadratic + learned + equation 8": (QuadraticConfig(), LearnedPositionConfig(), TransformerXLConfig()),
}
SCORES = POSITION_SCORES | CONTENT_SCORES

VALUES = {
    "merged": (FullHeads(), MergedValues()),
    "projected": (FullHeads(), ProjectedValues()),
    "projected with bias": (FullHeads(), ProjectedValues(bias=True)),
    "split": (SplitHeads(), ProjectedValues()),
    "split with bias": (SplitHeads(), ProjectedValues(bias=True)),
    "of some width": (HeadsOfWidth(6), ProjectedValues()),
}


def random_layer(
    scores: str,
    values: str = "merged",
    *,
    num_heads: int = 2,
    dim: int = 4,
    grid: tuple[int, int] = (5, 6),
    output_dim: int | None = None,
    dropout: DropoutPerBatch | DropoutPerImage | None = None,
    query_key_bias: bool = True,
) -> MultiheadAttention:
    """A layer in float64; u and v of equation 8 start at zero and would hide mistakes, so all is drawn anew."""
    torch.manual_seed(0)
    heads, merged_or_projected = VALUES[values]
    config = MultiheadAttentionConfig(
        num_heads=num_heads,
        scores=SCORES[scores],
        heads=heads,
        values=merged_or_projected,
        query_key_bias=query_key_bias,
        dropout=DropoutPerImage(0.0) if dropout is None else dropout,
    )
    layer = config.build(dim, grid, output_dim).double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.normal_()
    return layer


def random_pixels(batch: int = 2, height: int = 3, width: int = 5, dim: int = 4) -> torch.Tensor:
    torch.manual_seed(1)
    return torch.randn(batch, height, width, dim, dtype=torch.float64, requires_grad=True)
