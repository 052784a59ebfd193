from typing import Annotated

import pytest

from headgrid.attention import MultiheadAttentionConfig
from headgrid.experiments.experiment import DataConfig, ModelConfig
from headgrid.experiments.kinds import choices, is_choice, kind_name, kinds, suggestion
from headgrid.scores import ContentConfig, GeneralizedQuadraticConfig, TransformerXLConfig
from headgrid.scores.score import ScoreTermConfig
from headgrid.training import SGD, AdamW, MultiStep, Optimizer, Schedule, WeightAverage


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (GeneralizedQuadraticConfig, "generalized-quadratic"),
        (TransformerXLConfig, "transformer-xl"),
        (ContentConfig, "content"),
        (MultiStep, "multi-step"),
        (AdamW, "adamw"),
        (SGD, "sgd"),
    ],
)
def test_names_are_the_words_of_the_class(kind: type, name: str):
    assert kind_name(kind) == name


@pytest.mark.parametrize("union", [ModelConfig, DataConfig, ScoreTermConfig, Optimizer, Schedule])
def test_no_two_members_of_a_union_share_a_name(union: object):
    assert len(kinds(union)) == len(choices(union))


def test_what_a_choice_is():
    assert is_choice(Optimizer)
    assert is_choice(Annotated[SGD | AdamW | None, "with a note"])
    assert not is_choice(WeightAverage | None)
    assert not is_choice(MultiheadAttentionConfig)
    assert not is_choice(int | None)
    assert list(kinds(WeightAverage | None)) == ["weight-average"]


def test_suggestions():
    assert suggestion("quadratc", ["learned", "quadratic"]) == "did you mean 'quadratic'?"
    assert suggestion("xyz", ["learned", "quadratic"]) == "expected one of learned, quadratic"
    assert suggestion("xyz", []) == "nothing can stand here"
