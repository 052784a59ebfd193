"""The regulariser against its meaning, and its gradient against differences."""

import math

import pytest
import torch

from headgrid.pruning import SpreadPenalty, stretch

from .models import CONFIGS, HIERARCHICAL, random_model


def spreads_of(model) -> list[torch.Tensor]:
    return [block.attention.score.terms[0].spreads for block in model.stack.blocks]


def test_stretch_is_about_the_condition_number_alone():
    spreads = torch.randn(50, 2, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    eigenvalues = torch.linalg.eigvalsh(spreads @ spreads.mT)
    expected = ((eigenvalues[:, 1] / eigenvalues[:, 0]).log() / 2).cosh().log()
    torch.testing.assert_close(stretch(spreads), expected)
    torch.testing.assert_close(stretch(-7 * spreads), expected)
    turned = torch.tensor([[math.cos(1), math.sin(1)], [-math.sin(1), math.cos(1)]], dtype=torch.float64)
    torch.testing.assert_close(stretch(3 * turned[None]), torch.zeros(1, dtype=torch.float64))


def test_the_penalty_is_the_mean_over_all_heads():
    model = random_model(CONFIGS["generalized"])
    expected = 0.3 * torch.stack([stretch(spreads) for spreads in spreads_of(model)]).mean()
    torch.testing.assert_close(SpreadPenalty(0.3).of(model), expected)


def test_the_gradient_is_that_of_differences():
    model, penalty, step = random_model(CONFIGS["generalized"]), SpreadPenalty(0.3), 1e-6
    penalty.of(model).backward()
    for spreads in spreads_of(model):
        assert spreads.grad is not None
        differences = torch.zeros_like(spreads)
        with torch.no_grad():
            for index in range(spreads.numel()):
                entry = spreads.view(-1)[index : index + 1]
                entry += step
                above = penalty.of(model)
                entry -= 2 * step
                differences.view(-1)[index] = (above - penalty.of(model)) / (2 * step)
                entry += step
        torch.testing.assert_close(spreads.grad, differences, rtol=1e-6, atol=1e-8)
        assert spreads.grad.abs().max() > 1e-3
    touched = {id(spreads) for spreads in spreads_of(model)}
    assert all((parameter.grad is None) != (id(parameter) in touched) for parameter in model.parameters())


def test_round_heads_have_a_gradient_too():
    """Where both eigenvalues are equal, those of the eigenvectors would be nan."""
    spreads = torch.eye(2, dtype=torch.float64)[None].clone().requires_grad_()
    stretch(spreads).sum().backward()
    assert torch.equal(spreads.grad, torch.zeros(1, 2, 2, dtype=torch.float64))


def test_following_it_makes_a_stripe_round():
    spreads = torch.diag(torch.tensor([1.0, 1e-3], dtype=torch.float64))[None].requires_grad_()
    before = torch.linalg.cond(spreads.detach())
    for _ in range(200):
        (gradient,) = torch.autograd.grad(stretch(spreads).sum(), spreads)
        with torch.no_grad():
            spreads -= 1e-2 * gradient / gradient.norm()
    assert torch.linalg.cond(spreads.detach()) < 1.1 < before


@pytest.mark.parametrize("name", ["quadratic", "vit", "position alone", "learned"])
def test_models_without_such_heads(name: str):
    with pytest.raises(ValueError, match="is for generalized quadratic heads, and this model has none"):
        SpreadPenalty().check(random_model((CONFIGS | HIERARCHICAL)[name]))


@pytest.mark.parametrize("strength", [0.0, -1.0, math.nan])
def test_a_penalty_has_a_strength(strength: float):
    with pytest.raises(ValueError, match="strength of the spread penalty must be above 0"):
        SpreadPenalty(strength)
