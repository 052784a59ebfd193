"""Counts and losses against a slow count by hand; modes and gradients left as they were found."""

from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headgrid.evaluation.accuracy import evaluate


class Stored:
    """Fixed images in batches of any size."""

    def __init__(self, images: Tensor, labels: Tensor, batch_size: int) -> None:
        self.images, self.labels, self.batch_size = images, labels, batch_size
        self.num_images = len(labels)

    def __len__(self) -> int:
        return -(-self.num_images // self.batch_size)

    def epoch(self, epoch: int, first_batch: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        images = self.images.split(self.batch_size)[first_batch:]
        yield from zip(images, self.labels.split(self.batch_size)[first_batch:], strict=True)


def images_and_labels(num_images: int, num_classes: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(num_images, 3, 4, 5, generator=generator)
    return images, torch.randint(num_classes, (num_images,), generator=generator)


def small_model(num_classes: int) -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.Dropout(0.5), nn.Flatten(), nn.Linear(36, num_classes)
    )


def test_agrees_with_a_count_by_hand():
    images, labels = images_and_labels(23, 7)
    labels[labels == 4] = 5
    model = small_model(7)
    found = evaluate(model, Stored(images, labels, 5), 7)
    model.eval()
    num_right = num_top = 0
    per_class = {label: [] for label in range(7)}
    for image, label in zip(images, labels, strict=True):
        logits = model(image[None])[0].detach()
        right = int(logits.argmax()) == int(label)
        num_right += right
        num_top += int(label) in sorted(range(7), key=lambda o: -float(logits[o]))[:5]
        per_class[int(label)].append(right)
    assert found.num_images == 23
    assert found.accuracy == num_right / 23
    assert found.top5_accuracy == num_top / 23
    assert found.per_class == tuple(sum(v) / len(v) if v else None for v in per_class.values())
    assert found.per_class[4] is None
    assert found.loss == pytest.approx(F.cross_entropy(model(images), labels).item(), rel=1e-6)


@pytest.mark.parametrize("batch_size", [1, 4, 23])
def test_batch_size_makes_no_difference(batch_size: int):
    images, labels = images_and_labels(23, 7)
    whole = evaluate(small_model(7), Stored(images, labels, 23), 7)
    parts = evaluate(small_model(7), Stored(images, labels, batch_size), 7)
    assert (parts.accuracy, parts.top5_accuracy, parts.per_class) == (
        whole.accuracy,
        whole.top5_accuracy,
        whole.per_class,
    )
    assert abs(parts.loss - whole.loss) < 1e-6


def test_counts_are_exact_where_float32_is_not():
    """A loss of 1 for each of 2**24 + 2 images: a float32 sum would stop growing."""
    from headgrid.evaluation.accuracy import Tally

    tally = Tally(2, torch.device("cpu"))
    tally.loss += 2.0**24
    logits = torch.zeros(2, 2)
    tally.add(logits, torch.tensor([0, 1]))
    assert float(tally.loss) == pytest.approx(2**24 + 2 * 0.6931471805599453, abs=1e-6)


@pytest.mark.parametrize(("num_classes", "there"), [(5, False), (6, True)])
def test_top5_needs_more_than_five_classes(num_classes: int, there: bool):
    images, labels = images_and_labels(8, num_classes)
    found = evaluate(small_model(num_classes), Stored(images, labels, 8), num_classes)
    assert (found.top5_accuracy is not None) is there


def test_modes_and_statistics_stay():
    images, labels = images_and_labels(8, 7)
    model = small_model(7).train()
    model[1].eval()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    evaluate(model, Stored(images, labels, 3), 7)
    assert model.training
    assert model[2].training
    assert not model[1].training
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert torch.is_grad_enabled()


def test_modes_come_back_after_an_error():
    images, labels = images_and_labels(8, 7)
    model = small_model(6).train()
    with pytest.raises(ValueError, match="tells 6 classes apart, but the images have 7"):
        evaluate(model, Stored(images, labels, 8), 7)
    assert model.training


def test_a_tensor_kept_from_evaluation_can_be_trained_with():
    """Models may keep grids of positions that they made on first use."""

    class Keeps(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1))
            self.kept: Tensor | None = None

        def forward(self, images: Tensor) -> Tensor:
            if self.kept is None:
                self.kept = torch.arange(7.0)
            return images.mean((1, 2, 3))[:, None] * self.kept * self.weight

    images, labels = images_and_labels(8, 7)
    model = Keeps()
    evaluate(model, Stored(images, labels, 8), 7)
    model(images).sum().backward()
    assert model.weight.grad is not None


def test_bfloat16_computes_in_bfloat16_and_sums_losses_in_full():
    images, labels = images_and_labels(64, 7)
    model = small_model(7)
    seen = []
    model[4].register_forward_hook(lambda module, inputs, output: seen.append(output.dtype))
    low = evaluate(model, Stored(images, labels, 64), 7, precision="bfloat16")
    full = evaluate(model, Stored(images, labels, 64), 7)
    assert seen == [torch.bfloat16, torch.float32]
    assert low.loss != full.loss
    assert low.loss == pytest.approx(full.loss, rel=0.02)


def test_progress_hears_of_every_batch():
    images, labels = images_and_labels(23, 7)
    heard = []
    evaluate(small_model(7), Stored(images, labels, 10), 7, progress=heard.append)
    assert heard == [10, 10, 3]


def test_no_images_is_an_error():
    images, labels = images_and_labels(0, 7)
    batches = Stored(images, labels, 4)
    batches.epoch = lambda epoch, first_batch=0: iter(())
    with pytest.raises(ValueError, match="no images to evaluate on"):
        evaluate(small_model(7), batches, 7)
