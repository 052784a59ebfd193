"""What an attention layer of the original scores, and where its parameters stand.

One name misleads: without the query, `row_embeddings` and `head_keys_row` of the original act on the shift between
*columns*, and `col_...` on the shift between rows; with the query, `row_embeddings` act on the shift between rows.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from headgrid.attention import DropoutPerBatch, DropoutPerImage
from headgrid.interop.attention_cnn.options import Options
from headgrid.interop.foreign_weights import shape_of
from headgrid.scores import (
    ContentConfig,
    GeneralizedQuadraticConfig,
    LearnedPositionConfig,
    QuadraticConfig,
    QueryPositionConfig,
    RandomCenters,
    ScoreTermConfig,
)

SELF = "attention.self"
TERM = "attention.score.terms.0"

QUADRATIC = {f"{TERM}.centers": f"{SELF}.attention_centers", f"{TERM}.spreads": f"{SELF}.attention_spreads"}
LEARNED = {
    f"{TERM}.encoding.row_table": f"{SELF}.col_embeddings.weight",
    f"{TERM}.encoding.column_table": f"{SELF}.row_embeddings.weight",
    f"{TERM}.row_vectors.weight": f"{SELF}.head_keys_col.weight",
    f"{TERM}.column_vectors.weight": f"{SELF}.head_keys_row.weight",
}
QUERY_POSITION = {
    f"{TERM}.encoding.row_table": f"{SELF}.row_embeddings.weight",
    f"{TERM}.encoding.column_table": f"{SELF}.col_embeddings.weight",
}
"""Our parameter -> the original's, in each layer, for each kind of position score."""


@dataclass(frozen=True)
class Scores:
    """What the attention scores: our terms, and where their parameters are found."""

    terms: tuple[ScoreTermConfig, ...]
    names: dict[str, str]
    dropout: DropoutPerBatch | DropoutPerImage
    image_side: int
    """Rows, and columns, of the largest image that the original's tables cover; of CIFAR's without tables."""


def quadratic_scores(entries: Mapping[str, Tensor], options: Options, cell: int) -> Scores:
    name = "encoder.layer.0.attention.self.attention_spreads"
    if name not in entries:
        raise ValueError(
            f"the weights have no entry {name}, which quadratic attention needs: "
            f"for learned attention the config says use_gaussian_attention = False, use_learned_2d_encoding = True"
        )
    isotropic = options.attention_isotropic_gaussian
    if isotropic is None:
        isotropic = entries[name].dim() == 1
    start = RandomCenters(options.gaussian_init_mu_std, options.gaussian_init_sigma_std)
    return Scores(
        terms=(QuadraticConfig(start) if isotropic else GeneralizedQuadraticConfig(start),),
        names=QUADRATIC,
        # One map and one mask for the whole batch.
        dropout=DropoutPerBatch(options.attention_probs_dropout_prob),
        image_side=math.ceil(32 / cell) * cell,
    )


def learned_scores(entries: Mapping[str, Tensor], options: Options, hidden: int, cell: int) -> Scores:
    name = "encoder.layer.0.attention.self.row_embeddings.weight"
    num_shifts, size = shape_of(entries, name, "shifts", "position_encoding_size")
    if num_shifts % 2 == 0:
        raise ValueError(
            f"entry {name} of the weights has {num_shifts} rows: expected 2 * max_position_embeddings - 1"
        )
    positions = options.agree("max_position_embeddings", (num_shifts + 1) // 2, name)
    if options.position_encoding_size != -1:  # -1 stands for the default
        options.agree("position_encoding_size", size, name)

    content = (ContentConfig(),) if options.use_attention_data else ()
    if options.query_positional_score:
        terms, names = (QueryPositionConfig(), *content), QUERY_POSITION
    else:
        width = hidden if options.position_encoding_size == -1 else size
        terms, names = (LearnedPositionConfig(None if width == hidden else width), *content), LEARNED
    if options.query_positional_score or content:
        names = names | weight_and_bias("attention.query", f"{SELF}.query")
    if content:
        names = names | weight_and_bias("attention.key", f"{SELF}.key")
    # The original repeats even a map without content for every image before it drops entries.
    return Scores(terms, names, DropoutPerImage(options.attention_probs_dropout_prob), positions * cell)


def weight_and_bias(ours: str, theirs: str) -> dict[str, str]:
    """The two parameters of a Linear or a LayerNorm."""
    return {f"{ours}.{part}": f"{theirs}.{part}" for part in ("weight", "bias")}
