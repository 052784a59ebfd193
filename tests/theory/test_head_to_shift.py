"""What heads look at: shares, distances and dependences with known answers."""

import pytest
import torch

from headgrid.geometry import kernel_shifts
from headgrid.ops import grid_softmax
from headgrid.theory import head_to_shift


def _one_shift(height, width, shift):
    """Maps of equation 10; a query whose pixel does not exist spreads its attention evenly."""
    weights = torch.zeros(height, width, height, width)
    for h in range(height):
        for w in range(width):
            y, x = h + shift[0], w + shift[1]
            if 0 <= y < height and 0 <= x < width:
                weights[h, w, y, x] = 1
            else:
                weights[h, w] = 1 / (height * width)
    return weights


def test_heads_of_lemma_1():
    shifts = kernel_shifts((3, 3))
    weights = torch.stack([_one_shift(5, 7, shift) for shift in shifts.tolist()]).expand(3, -1, -1, -1, -1, -1)
    found = head_to_shift(weights)
    assert torch.equal(found.peak_shift, shifts)
    torch.testing.assert_close(found.peak_mass, torch.ones(9))
    torch.testing.assert_close(found.content_dependence, torch.zeros(9))
    torch.testing.assert_close(found.distribution.sum(dim=(1, 2)), torch.ones(9))
    assert found.distribution.shape == (9, 9, 13)
    centre = found.distribution[4]
    assert centre[4, 6] == pytest.approx(1)


def test_against_the_definitions_written_out():
    torch.manual_seed(0)
    weights = grid_softmax(2 * torch.randn(3, 2, 4, 5, 4, 5, dtype=torch.float64))
    found = head_to_shift(weights)
    mean = weights.mean(dim=0)
    total, count = torch.zeros(2, 7, 9, dtype=torch.float64), torch.zeros(7, 9)
    for h in range(4):
        for w in range(5):
            for y in range(4):
                for x in range(5):
                    total[:, y - h + 3, x - w + 4] += mean[:, h, w, y, x]
                    count[y - h + 3, x - w + 4] += 1
    torch.testing.assert_close(found.distribution, total / 20)
    for head in range(2):
        row, column = divmod(int(total[head].argmax()), 9)
        assert found.peak_shift[head].tolist() == [row - 3, column - 4]
        assert found.peak_mass[head] == pytest.approx(float(total[head, row, column] / count[row, column]))
    content, position = torch.zeros(2), torch.zeros(2)
    for head in range(2):
        for h in range(4):
            for w in range(5):
                for image in range(3):
                    content[head] += 0.5 * (weights[image, head, h, w] - mean[head, h, w]).abs().sum() / 60
                window = (total[head] / count)[3 - h : 7 - h, 4 - w : 9 - w]
                position[head] += 0.5 * (mean[head, h, w] - window / window.sum()).abs().sum() / 20
    torch.testing.assert_close(found.content_dependence.float(), content)
    torch.testing.assert_close(found.position_dependence.float(), position)


def test_heads_that_follow_the_image():
    """Every image looks somewhere else: the dependence is the largest that three images can have."""
    weights = torch.stack([_one_shift(6, 6, shift) for shift in [(0, 0), (0, 1), (1, 0)]])[:, None]
    inside = head_to_shift(weights[:, :, :5, :5, :5, :5] + 1e-12)
    assert inside.content_dependence[0] > 0.5
    assert inside.peak_mass[0] < 0.5


def test_one_image_cannot_show_dependence():
    with pytest.raises(ValueError, match="at least two"):
        head_to_shift(torch.full((1, 1, 2, 2, 2, 2), 0.25))
