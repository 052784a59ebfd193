import pytest
import torch
import torch.nn.functional as F

from headgrid.training.step import smoothing_over_all


@pytest.mark.parametrize("num_classes", [2, 3, 10, 1000])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.37])
def test_the_right_class_gives_its_share_to_the_others(share: float, num_classes: int):
    logits = torch.randn(5, num_classes, dtype=torch.float64)
    labels = torch.arange(5) % num_classes
    targets = torch.full_like(logits, share / (num_classes - 1))
    targets[torch.arange(5), labels] = 1 - share
    loss = F.cross_entropy(logits, labels, label_smoothing=smoothing_over_all(share, num_classes))
    torch.testing.assert_close(loss, -(targets * logits.log_softmax(dim=1)).sum(dim=1).mean())


def test_the_right_class_keeps_the_largest_part():
    assert smoothing_over_all(0.5, 2) == 1.0
    with pytest.raises(ValueError, match=r"with 3 classes it must be at most 0\.667"):
        smoothing_over_all(0.7, 3)
