"""Which Gaussians are degenerate, against eigenvalues worked out by hand."""

import math

import pytest
import torch

from headgrid.analysis.degenerate_heads import DegeneracyThresholds, degenerate_heads
from headgrid.attention import MultiheadAttentionConfig
from headgrid.models import FullyAttentionalConfig
from headgrid.scores import ContentConfig, GeneralizedQuadraticConfig, QuadraticConfig


def model(*scores, num_heads=5):
    attention = MultiheadAttentionConfig(num_heads=num_heads, scores=scores)
    return FullyAttentionalConfig(dim=8, num_layers=2, attention=attention).build()


def rotated(first, second, angle=0.7, other=-1.9):
    """A spread with these singular values, neither symmetric nor along the axes."""
    left, right = (
        torch.tensor([[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]], dtype=torch.float64)
        for a in (angle, other)
    )
    return left @ torch.diag(torch.tensor([first, second], dtype=torch.float64)) @ right


def test_generalized_heads():
    network = model(GeneralizedQuadraticConfig()).double()
    singular = [(2.0, 1.0), (1.0, 1e-4), (1e-3, 1e-3), (0.01, 0.0), (0.0, 0.0)]
    with torch.no_grad():
        network.stack.blocks[1].attention.score.terms[0].spreads.copy_(torch.stack([rotated(*s) for s in singular]))
    heads = degenerate_heads(network)
    assert [(head.layer, head.head) for head in heads] == [
        (f"stack.blocks.{layer}.attention", head) for layer in range(2) for head in range(5)
    ]
    assert all(head.degeneracy is None and head.reason is None for head in heads[:5])
    assert [head.degeneracy for head in heads[5:]] == [None, "stripe", "uniform", "stripe", "uniform"]
    for head, (larger, smaller) in zip(heads[5:], singular, strict=True):
        assert head.eigenvalues == pytest.approx((larger**2, smaller**2), rel=1e-9, abs=1e-30)
    assert heads[6].condition_number == pytest.approx(1e8)
    assert heads[6].reason == "looks at a stripe: condition number 1e+08 > 100000"
    assert heads[7].reason == "looks everywhere: largest eigenvalue 1e-06 < 1e-05"
    assert heads[8].condition_number > 1e20
    assert degenerate_heads(network, DegeneracyThresholds(0.0, 1e9))[6].degeneracy is None
    assert degenerate_heads(network, DegeneracyThresholds(0.0, 3.0))[5].degeneracy == "stripe"


def test_the_eigenvalues_are_those_of_the_inverse_covariance():
    network = model(GeneralizedQuadraticConfig()).double()
    term = network.stack.blocks[0].attention.score.terms[0]
    with torch.no_grad():
        term.spreads.normal_()
    expected = torch.linalg.eigvalsh(term.inverse_covariances()).flip(-1)
    found = torch.tensor([head.eigenvalues for head in degenerate_heads(network)[:5]], dtype=torch.float64)
    torch.testing.assert_close(found, expected.detach())


def test_round_heads_have_one_eigenvalue():
    network = model(QuadraticConfig())
    with torch.no_grad():
        network.stack.blocks[0].attention.score.terms[0].spreads.copy_(torch.tensor([1.0, -2.0, 1e-3, 0.0, 0.01]))
    heads = degenerate_heads(network)[:5]
    assert [head.degeneracy for head in heads] == [None, None, "uniform", "uniform", None]
    assert heads[1].eigenvalues == (4.0, 4.0)
    assert heads[1].condition_number == 1.0
    assert heads[3].condition_number == math.inf


def test_heads_with_content_are_no_gaussians():
    from headgrid.attention import DropoutPerImage

    attention = MultiheadAttentionConfig(2, (QuadraticConfig(), ContentConfig()), dropout=DropoutPerImage())
    assert degenerate_heads(FullyAttentionalConfig(dim=8, num_layers=1, attention=attention).build()) == ()


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [({"eigenvalue": -1.0}, "eigenvalue must be at least 0"), ({"condition_number": 0.5}, "must be at least 1")],
)
def test_thresholds_that_cannot_be(thresholds, message):
    with pytest.raises(ValueError, match=message):
        DegeneracyThresholds(**thresholds)
