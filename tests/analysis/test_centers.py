import math

import pytest
import torch

from headgrid.analysis import centers_of_row, contour, describe_centers, head_centers, trajectories
from headgrid.attention import MultiheadAttentionConfig
from headgrid.models import FullyAttentionalConfig
from headgrid.scores import ContentConfig, GeneralizedQuadraticConfig, QuadraticConfig


def _model(score):
    attention = MultiheadAttentionConfig(num_heads=3, scores=(score,))
    return FullyAttentionalConfig(dim=8, num_layers=2, attention=attention, image_size=(8, 12)).build()


@pytest.mark.parametrize("score", [QuadraticConfig(), GeneralizedQuadraticConfig()])
def test_centers_are_those_of_the_scores_and_survive_a_row_of_a_file(score):
    model = _model(score)
    layers = head_centers(model)
    assert list(layers) == ["stack.blocks.0.attention", "stack.blocks.1.attention"]
    for name, heads in layers.items():
        assert torch.equal(heads.centers, model.get_submodule(name).score.terms[0].centers)
    row = {"epoch": 3} | {name: array.tolist() for name, array in describe_centers(model).items()}
    for name, heads in centers_of_row(row).items():
        torch.testing.assert_close(heads.centers, layers[name].centers)
        torch.testing.assert_close(heads.inverse_covariances, layers[name].inverse_covariances)


def test_a_model_without_quadratic_scores_has_no_centers():
    from headgrid.attention import DropoutPerImage

    attention = MultiheadAttentionConfig(num_heads=2, scores=(ContentConfig(),), dropout=DropoutPerImage())
    assert head_centers(FullyAttentionalConfig(dim=8, num_layers=1, attention=attention).build()) == {}


def test_contours_hold_the_share_of_the_attention_that_they_say():
    # The weights of a broad head on a fine grid, summed inside of the curve.
    center = torch.tensor([3.0, -5.0], dtype=torch.float64)
    spread = torch.tensor([[0.08, 0.03], [0.0, 0.05]], dtype=torch.float64)
    precision = spread @ spread.T
    rows, columns = torch.meshgrid(*2 * [torch.arange(-150.0, 151.0, dtype=torch.float64)], indexing="ij")
    offset = torch.stack([rows, columns], dim=-1) - center
    distance = torch.einsum("hwi,ij,hwj->hw", offset, precision, offset)
    weights = torch.softmax(-0.5 * distance.flatten(), dim=0).view_as(distance)
    for share in (0.5, 0.9):
        points = contour(center, precision, share) - center
        on_curve = torch.einsum("ki,ij,kj->k", points, precision, points)
        torch.testing.assert_close(on_curve, torch.full_like(on_curve, -2 * math.log(1 - share)))
        assert weights[distance <= on_curve[0]].sum().item() == pytest.approx(share, abs=0.005)


def test_share_must_be_a_share():
    with pytest.raises(ValueError, match="between 0 and 1"):
        contour(torch.zeros(2), torch.eye(2), 1.5)


def test_trajectories_follow_every_head_over_the_epochs():
    """From rows in any order, as a resumed run may write them; a row that was written twice counts once."""
    model, rows, expected = _model(GeneralizedQuadraticConfig()), [], {}
    for epoch in (2, 0, 1, 2):
        with torch.no_grad():
            for heads in head_centers(model).values():
                heads.centers.add_(1.0)
        expected[epoch] = {name: heads.centers.clone() for name, heads in head_centers(model).items()}
        rows.append({"epoch": epoch} | {name: array.tolist() for name, array in describe_centers(model).items()})
    found = trajectories(rows)
    assert list(found) == list(head_centers(model))
    for name, trajectory in found.items():
        assert trajectory.epochs == (0, 1, 2)
        assert trajectory.centers.shape == (3, 3, 2)
        for index, epoch in enumerate(trajectory.epochs):
            torch.testing.assert_close(trajectory.centers[index], expected[epoch][name])
            torch.testing.assert_close(trajectory.at(epoch).centers, expected[epoch][name])
        torch.testing.assert_close(
            trajectory.inverse_covariances[-1], head_centers(model)[name].inverse_covariances
        )
        with pytest.raises(ValueError, match="the centres of epoch 7 were not written"):
            trajectory.at(7)
