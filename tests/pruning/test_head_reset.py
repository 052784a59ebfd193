"""Degenerate heads, and only these, get a new centre and a new spread."""

import pytest
import torch

from headgrid.pruning import HeadReset
from headgrid.scores import GeneralizedQuadraticConfig
from headgrid.stacks import Hierarchical

from .models import CONFIGS, attentional, random_model

CENTERS = "stack.blocks.{}.attention.score.terms.0.centers"
SPREADS = "stack.blocks.{}.attention.score.terms.0.spreads"


def with_degenerate_heads(name: str = "generalized"):
    """Heads 1 and 3 of the first layer, head 2 of the last."""
    model = random_model(CONFIGS[name])
    with torch.no_grad():
        for layer, head in ((0, 1), (0, 3), (2, 2)):
            model.stack.blocks[layer].attention.score.terms[0].spreads[head] = 1e-4
    return model


@pytest.mark.parametrize("name", ["generalized", "quadratic"])
def test_degenerate_heads_get_new_centers_and_spreads(name: str):
    model = with_degenerate_heads(name)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    random_state = torch.random.get_rng_state()
    rows = HeadReset().new_rows(model, 0, seed=5)
    assert {name: list(of_heads) for name, of_heads in rows.items()} == {
        CENTERS.format(0): [1, 3],
        SPREADS.format(0): [1, 3],
        CENTERS.format(2): [2],
        SPREADS.format(2): [2],
    }
    for name, of_heads in rows.items():
        for head, value in of_heads.items():
            assert value.shape == before[name][head].shape
            assert (value - before[name][head]).abs().min() > 1e-4
            assert not value.requires_grad
    # Drawn as at the start of a training: centres around the query, spreads around one.
    assert (rows[CENTERS.format(0)][1] != rows[CENTERS.format(0)][3]).all()
    new = rows[SPREADS.format(2)][2]
    assert torch.linalg.det(new).abs() > 0.5 if new.dim() else new > 0.5
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert torch.equal(torch.random.get_rng_state(), random_state)


def test_what_a_head_gets_depends_on_the_seed_and_the_head_alone():
    model = with_degenerate_heads()
    rows = HeadReset().new_rows(model, 0, seed=5)
    with torch.no_grad():
        model.stack.blocks[0].attention.score.terms[0].spreads[1] = torch.eye(2)
    fewer = HeadReset().new_rows(model, 0, seed=5)
    assert list(fewer[CENTERS.format(0)]) == [3]
    assert torch.equal(fewer[CENTERS.format(0)][3], rows[CENTERS.format(0)][3])
    other = HeadReset().new_rows(model, 0, seed=6)
    assert not torch.equal(other[CENTERS.format(0)][3], rows[CENTERS.format(0)][3])


def test_when_they_are_looked_for():
    model = with_degenerate_heads()

    def epochs(reset: HeadReset) -> list[int]:
        return [epoch for epoch in range(8) if reset.new_rows(model, epoch, seed=0)]

    assert epochs(HeadReset()) == list(range(8))
    assert epochs(HeadReset(every=3)) == [0, 3, 6]
    assert epochs(HeadReset(every=2, until=4)) == [0, 2, 4]
    assert epochs(HeadReset(until=0)) == [0]
    model = random_model(CONFIGS["generalized"])
    assert epochs(HeadReset()) == []


def test_shared_heads_are_reset_once():
    model = random_model(attentional(GeneralizedQuadraticConfig(), stack=Hierarchical()))
    with torch.no_grad():
        model.stack.blocks[0].attention.score.terms[0].spreads[2] = 1e-4
    rows = HeadReset().new_rows(model, 0, seed=0)
    names = dict(model.named_parameters())
    assert set(rows) <= set(names)
    assert [list(of_heads) for of_heads in rows.values()] == [[2], [2]]


def test_mistakes():
    with pytest.raises(ValueError, match="this model has none: leave the reset of heads out"):
        HeadReset().check(random_model(CONFIGS["vit"]))
    with pytest.raises(ValueError, match="but every is 0"):
        HeadReset(every=0)
    with pytest.raises(ValueError, match="until is a number of finished epochs from 0 on, but is -1"):
        HeadReset(until=-1)
    with pytest.raises(ValueError, match="condition number must be at least 1"):
        HeadReset(condition_number=0.5)
