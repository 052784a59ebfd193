import pytest
import torch
from torch import nn

from headgrid.training import SGD, AdamW
from headgrid.training.optimizer import decay_groups, trainable

from .small import SmallModel


def names_without_decay(model: nn.Module, without_decay: tuple[str, ...]) -> set[str]:
    groups = decay_groups(model, 0.1, without_decay)
    assert sum(len(group["params"]) for group in groups) == len(trainable(model))
    spared = {id(p) for group in groups if group["weight_decay"] == 0 for p in group["params"]}
    return {name for name, parameter in model.named_parameters() if id(parameter) in spared}


def test_parts_of_names_are_whole_words():
    model = nn.ModuleDict({"first": SmallModel(), "second": SmallModel()})
    assert names_without_decay(model, ()) == set()
    assert names_without_decay(model, ("centers",)) == {"first.centers", "second.centers"}
    assert names_without_decay(model, ("second.centers", "head.bias")) == {
        "second.centers",
        "first.head.bias",
        "second.head.bias",
    }
    assert names_without_decay(model, ("first.norm",)) == {"first.norm.weight", "first.norm.bias"}


@pytest.mark.parametrize("part", ["center", "enters", "head.weights", ""])
def test_a_part_that_matches_nothing_is_refused(part: str):
    with pytest.raises(ValueError, match=f"without_decay names '{part}'.*bias, centers, convolution, head"):
        decay_groups(SmallModel(), 0.1, ("centers", part))


def test_everything_may_be_spared():
    assert len(decay_groups(nn.Linear(2, 2), 0.1, ("weight", "bias"))) == 1


def test_frozen_parameters_are_left_out():
    model = SmallModel()
    model.head.requires_grad_(False)
    assert not {name for name in trainable(model) if name.startswith("head")}
    model.requires_grad_(False)
    with pytest.raises(ValueError, match="no parameter to train"):
        SGD().build(model)


def test_shared_parameters_are_trained_once():
    layer = nn.Linear(3, 3)
    assert len(trainable(nn.Sequential(layer, layer))) == 2


def test_sgd_decays_all_but_the_centers():
    """One step without gradients from the loss: only decay moves the weights."""
    model = SmallModel()
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer = SGD(learning_rate=0.5, weight_decay=0.1, without_decay=("centers",)).build(model)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    for name, parameter in model.named_parameters():
        expected = before[name] if name == "centers" else before[name] * (1 - 0.5 * 0.1)
        torch.testing.assert_close(parameter.detach(), expected)


def test_configs_reach_the_optimizers():
    sgd = SGD(learning_rate=0.3, momentum=0.8, nesterov=True).build(SmallModel())
    assert isinstance(sgd, torch.optim.SGD)
    assert (sgd.defaults["lr"], sgd.defaults["momentum"], sgd.defaults["nesterov"]) == (0.3, 0.8, True)
    adam = AdamW(learning_rate=0.3, betas=(0.8, 0.9), epsilon=1e-6, weight_decay=0.2).build(SmallModel())
    assert isinstance(adam, torch.optim.AdamW)
    assert (adam.defaults["lr"], adam.defaults["betas"], adam.defaults["eps"]) == (0.3, (0.8, 0.9), 1e-6)
    assert adam.param_groups[0]["weight_decay"] == 0.2


@pytest.mark.parametrize(
    "make",
    [
        lambda: SGD(learning_rate=0.0),
        lambda: SGD(learning_rate=float("nan")),
        lambda: SGD(momentum=1.0),
        lambda: SGD(weight_decay=-1.0),
        lambda: SGD(momentum=0.0, nesterov=True),
        lambda: AdamW(betas=(0.9, 1.0)),
        lambda: AdamW(epsilon=0.0),
    ],
)
def test_impossible_optimizers_are_refused(make):
    with pytest.raises(ValueError, match=r"must|needs"):
        make()
