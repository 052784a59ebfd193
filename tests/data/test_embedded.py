"""The embedded data: reproducible, quick, and told apart by what stands side by side and nothing else."""

import time

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from headgrid.data import CropAndFlip, Embedded, NoAugmentation
from headgrid.data.embedded import ranked
from headgrid.data.embedded_patterns import PATTERNS

CHANCE = 0.1


@pytest.fixture(scope="module")
def data():
    return Embedded(num_train=2000, num_validation=0, num_test=1000).load()


def whole(dataset, split):
    images, labels = zip(*dataset.evaluation_batches(split, 1000), strict=True)
    return torch.cat(images), torch.cat(labels)


def linear_accuracy(features, data, ridge):
    """Test accuracy of least squares with a quadratic penalty, from standardised features to classes."""
    (train, train_labels), (test, test_labels) = whole(data, "train"), whole(data, "test")
    train, test = features(train).double(), features(test).double()
    deviation, mean = torch.std_mean(train, dim=0)
    train, test = ((part - mean) / (deviation + 1e-9) for part in (train, test))
    targets = F.one_hot(train_labels, 10).double() - CHANCE
    gram = train.T @ train + ridge * torch.eye(train.shape[1], dtype=torch.float64)
    weights = torch.linalg.solve(gram, train.T @ targets)
    return ((test @ weights).argmax(1) == test_labels).double().mean().item()


def with_squares(features):
    return torch.cat([features, features**2], dim=1)


def colour_statistics(images):
    """All about the colours of an image that does not depend on where they are: moments and quantiles."""
    pixels = images.flatten(2)
    centred = pixels - pixels.mean(2, keepdim=True)
    covariance = (centred @ centred.mT / pixels.shape[2]).flatten(1)
    moments = [pixels.mean(2), covariance, (centred**3).mean(2), (centred**4).mean(2)]
    quantiles = pixels.quantile(torch.linspace(0, 1, 9), dim=2).permute(1, 2, 0).flatten(1)
    return with_squares(torch.cat([*moments, quantiles], dim=1))


def test_default_set_comes_quickly_and_as_it_says():
    start = time.process_time()
    dataset = Embedded().load()
    assert time.process_time() - start < 3
    assert dataset.num_images == {"train": 5000, "validation": 500, "test": 1000}
    assert dataset.name == "embedded"
    assert dataset.num_classes == Embedded.num_classes == len(set(dataset.class_names)) == 10
    assert dataset.image_size == Embedded.image_size == (32, 32)
    for split, count in (("train", 500), ("validation", 50), ("test", 100)):
        assert torch.bincount(dataset.splits[split].labels).tolist() == [count] * 10


def test_follows_from_the_seed(data):
    again = Embedded(num_train=2000, num_validation=0, num_test=1000).load()
    other = Embedded(num_train=2000, num_validation=0, num_test=1000, seed=1).load()
    for split in ("train", "test"):
        assert torch.equal(data.splits[split].images, again.splits[split].images)
        assert not torch.equal(data.splits[split].images, other.splits[split].images)


def test_sizes_of_splits_do_not_influence_other_splits(data):
    other = Embedded(num_train=30, num_validation=20, num_test=1000).load()
    assert torch.equal(data.splits["test"].images, other.splits["test"].images)


def test_no_image_comes_twice(data):
    images = [image.tobytes() for split in ("train", "test") for image in data.splits[split].images.numpy()]
    assert len(set(images)) == 3000


def test_the_global_generator_is_left_alone():
    before = torch.get_rng_state()
    Embedded(num_train=20, num_validation=10, num_test=10).load()
    assert torch.equal(before, torch.get_rng_state())


def test_all_images_consist_of_the_same_values():
    fields = torch.rand(5, 32, 32, generator=torch.Generator().manual_seed(0)) ** torch.arange(1, 6).view(-1, 1, 1)
    result = ranked(fields)
    assert torch.equal(result.flatten(1).sort().values, torch.linspace(-1, 1, 1024).expand(5, -1))
    assert torch.equal(result.flatten(1).argsort(), fields.flatten(1).argsort())


def test_pixels_are_normalised_and_never_clipped(data):
    images, _ = whole(data, "train")
    deviation, mean = torch.std_mean(images, dim=(0, 2, 3))
    assert mean.abs().max() < 0.05
    assert (deviation - 1).abs().max() < 0.05
    assert data.splits["train"].images.min() > 0
    assert data.splits["train"].images.max() < 255


def test_colours_give_nothing_away(data):
    """With 1,000 test images, chance is 0.100 with a standard deviation of 0.0095."""
    assert abs(linear_accuracy(lambda images: with_squares(images.mean((2, 3))), data, ridge=1.0) - CHANCE) < 0.04
    assert abs(linear_accuracy(colour_statistics, data, ridge=10.0) - CHANCE) < 0.04


def test_neighbouring_pixels_tell_what_pixels_alone_do_not(data):
    """Least squares on the pixels stays near chance; three small convolutions get most images right."""
    of_pixels = linear_accuracy(lambda images: F.avg_pool2d(images, 2).flatten(1), data, ridge=100.0)
    assert of_pixels < 0.3
    assert convolution_accuracy(data) > 0.65


def convolution_accuracy(data):
    def convolution(num_inputs, num_outputs):
        layer = nn.Conv2d(num_inputs, num_outputs, 3, padding=1)
        return layer, nn.BatchNorm2d(num_outputs), nn.ReLU()

    with torch.random.fork_rng():
        torch.manual_seed(0)
        pool = nn.AdaptiveAvgPool2d(1)
        model = nn.Sequential(
            *convolution(3, 16), nn.MaxPool2d(2), *convolution(16, 32), nn.MaxPool2d(2), *convolution(32, 32), pool
        )
        model.extend([nn.Flatten(), nn.Linear(32, 10)])
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    batches = data.training_batches(50, seed=0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.01, total_steps=3 * len(batches))
    for epoch in range(3):
        for images, labels in batches.epoch(epoch):
            optimizer.zero_grad()
            F.cross_entropy(model(images), labels).backward()
            optimizer.step()
            schedule.step()
    model.eval()
    images, labels = whole(data, "test")
    with torch.no_grad():
        return (model(images).argmax(1) == labels).double().mean().item()


@pytest.mark.parametrize(
    ("name", "row_step", "column_step"),
    [
        ("horizontal stripes", 0, 1),
        ("vertical stripes", 1, 0),
        ("rising stripes", -1, 1),
        ("falling stripes", 1, 1),
    ],
)
def test_stripes_run_as_they_are_called(name, row_step, column_step):
    """Along a stripe pixels are alike, across it they are not."""
    fields = PATTERNS[name](50, torch.Generator().manual_seed(0))

    def change(row_step, column_step):
        moved = fields.roll((-row_step, -column_step), dims=(1, 2))
        return float((moved - fields)[:, 2:-2, 2:-2].abs().mean())

    assert change(row_step, column_step) < 0.5 * change(-column_step, row_step)


def test_mirroring_is_refused():
    with pytest.raises(ValueError, match="mirroring turns rising stripes into falling ones"):
        Embedded(augmentation=CropAndFlip())
    assert Embedded(augmentation=CropAndFlip(flip_probability=0.0)).augmentation.flip_probability == 0
    assert Embedded().augmentation == NoAugmentation()


@pytest.mark.parametrize("sizes", [{"num_train": 0}, {"num_validation": -1}, {"num_test": -1}])
def test_sizes_are_checked(sizes):
    with pytest.raises(ValueError, match="at least one training image"):
        Embedded(**sizes)


def test_fewer_images_than_classes():
    assert Embedded(num_train=3, num_validation=0, num_test=1).load().num_images["train"] == 3
