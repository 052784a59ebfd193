"""Sums of terms: what structure they have, and which sums are refused."""

import pytest
import torch

from headgrid.encodings import SinusoidalAbsoluteConfig, SinusoidalRelativeConfig
from headgrid.scores import (
    AbsoluteContentConfig,
    ContentConfig,
    GeneralizedQuadraticConfig,
    HeadShape,
    LearnedPositionConfig,
    QuadraticConfig,
    QueryPositionConfig,
    Score,
    ScoreParts,
    Structure,
    TransformerXLConfig,
)

SHAPE = HeadShape(num_heads=2, dim=8, head_dim=4, grid=(3, 5))


@pytest.mark.parametrize(
    ("terms", "structure"),
    [
        ((QuadraticConfig(),), Structure.SEPARABLE),
        ((LearnedPositionConfig(),), Structure.SEPARABLE),
        ((QuadraticConfig(), LearnedPositionConfig()), Structure.SEPARABLE),
        ((GeneralizedQuadraticConfig(),), Structure.SHARED),
        ((QuadraticConfig(), GeneralizedQuadraticConfig()), Structure.SHARED),
        ((QueryPositionConfig(),), Structure.CONTENT),
        ((ContentConfig(), QuadraticConfig()), Structure.CONTENT),
        ((TransformerXLConfig(), GeneralizedQuadraticConfig()), Structure.CONTENT),
    ],
)
def test_a_sum_is_as_general_as_its_most_general_term(terms, structure):
    assert Score(terms, SHAPE).structure is structure


@pytest.mark.parametrize(
    ("term", "uses"),
    [
        (QuadraticConfig(), (False, False)),
        (QueryPositionConfig(), (True, False)),
        (ContentConfig(), (True, True)),
        (TransformerXLConfig(), (True, True)),
    ],
)
def test_a_score_asks_for_the_projections_that_it_needs(term, uses):
    score = Score((term,), SHAPE)
    assert (score.uses_query, score.uses_key) == uses


def test_parts_add_up_part_by_part():
    rows, columns, dense = torch.ones(1, 2, 3, 1, 3), torch.ones(1, 2, 1, 5, 5), torch.ones(2, 3, 5, 3, 5)
    total = ScoreParts(rows=rows, columns=columns) + ScoreParts(rows=2 * rows, dense=dense)
    assert torch.equal(total.rows, 3 * rows)
    assert total.columns is columns
    assert total.dense is dense
    assert total.query is None


def test_only_absolute_encodings_change_what_queries_and_keys_see():
    pixels = torch.randn(2, 3, 5, 8)
    assert Score((QuadraticConfig(), ContentConfig()), SHAPE).encode(pixels) is pixels
    score = Score((AbsoluteContentConfig(SinusoidalAbsoluteConfig()),), SHAPE)
    assert not torch.equal(score.encode(pixels), pixels)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ((), r"needs at least one term \(scores is empty\)"),
        ((ContentConfig(), ContentConfig()), "only one term with queries and keys, .* Content, Content"),
        ((ContentConfig(), AbsoluteContentConfig()), "only one term .* among: Content, AbsoluteContent"),
        (
            (TransformerXLConfig(), QuadraticConfig(), ContentConfig()),
            "only one term .* TransformerXL, Quadratic, Con",
        ),
        ((TransformerXLConfig(encoding_size=5),), "one half for rows and one for columns: 5 is odd"),
        ((TransformerXLConfig(SinusoidalRelativeConfig(), 6),), "divisible by 4, got 6"),
    ],
)
def test_sums_that_make_no_sense_are_refused(terms, message):
    with pytest.raises(ValueError, match=message):
        Score(terms, SHAPE)


def test_a_query_of_odd_width_cannot_be_halved():
    with pytest.raises(ValueError, match="half for rows and one for columns: the head width must be even, got 3"):
        Score((QueryPositionConfig(),), HeadShape(num_heads=2, dim=6, head_dim=3, grid=(3, 5)))
