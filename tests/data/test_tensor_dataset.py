"""Batches of a set in memory: values, order, exact continuation, shares of several processes."""

import pytest
import torch

from headgrid.data.augmentation import CropAndFlip, NoAugmentation
from headgrid.data.dataset import Normalization
from headgrid.data.tensor_dataset import LabelledImages, TensorDataset

NORMALIZATION = Normalization((0.5, 0.25, 0.125), (0.5, 0.25, 2.0))


def labelled(num_images, seed):
    generator = torch.Generator().manual_seed(seed)
    images = torch.randint(0, 256, (num_images, 3, 5, 7), dtype=torch.uint8, generator=generator)
    return LabelledImages(images, torch.arange(num_images) % 3)


@pytest.fixture
def dataset():
    return TensorDataset(
        "made", ("a", "b", "c"), NORMALIZATION, CropAndFlip(2), labelled(23, 0), labelled(0, 1), labelled(10, 2)
    )


def equal(left, right):
    return len(left) == len(right) and all(
        torch.equal(a, b) for x, y in zip(left, right, strict=True) for a, b in zip(x, y, strict=True)
    )


def test_describes_itself(dataset):
    assert dataset.num_classes == 3
    assert dataset.image_size == (5, 7)
    assert dataset.num_channels == 3
    assert dataset.num_images == {"train": 23, "validation": 0, "test": 10}


def test_evaluation_batches_are_the_normalised_images_in_order(dataset):
    batches = dataset.evaluation_batches("test", 4)
    images, labels = zip(*batches, strict=True)
    assert len(batches) == len(images) == 3
    assert [len(part) for part in images] == [4, 4, 2]
    stored = dataset.splits["test"]
    assert torch.equal(torch.cat(labels), stored.labels)
    assert labels[0].dtype == torch.int64
    for channel, (mean, std) in enumerate(zip(NORMALIZATION.mean, NORMALIZATION.std, strict=True)):
        expected = (stored.images[:, channel].double() / 255 - mean) / std
        torch.testing.assert_close(torch.cat(images)[:, channel].double(), expected, atol=1e-6, rtol=1e-6)
    assert images[0].dtype == torch.float32


def test_training_batches_are_shuffled_augmented_and_exact_on_continuation(dataset):
    batches = dataset.training_batches(5, seed=1)
    assert len(batches) == 5
    assert batches.num_images == 23
    assert batches.batch_size == 5
    epochs = [list(batches.epoch(epoch)) for epoch in range(2)]
    assert equal(epochs[0], list(batches))
    assert not equal(epochs[0], epochs[1])
    again = dataset.training_batches(5, seed=1)
    for epoch, whole in enumerate(epochs):
        for first in range(6):
            assert equal(whole[first:], list(again.epoch(epoch, first)))
    other_seed = list(dataset.training_batches(5, seed=2))
    assert not equal(epochs[0], other_seed)
    labels = torch.cat([labels for _, labels in epochs[1]])
    assert torch.equal(labels.sort().values, dataset.splits["train"].labels.sort().values)


def test_labels_belong_to_their_images():
    """Every image is filled with its label, so that crops and flips cannot change what it shows."""
    labels = torch.arange(40) % 3
    images = (labels + 1)[:, None, None, None].expand(40, 3, 5, 7).to(torch.uint8)
    none = LabelledImages(images[:0], labels[:0])
    data = TensorDataset(
        "made", ("a", "b", "c"), NORMALIZATION, CropAndFlip(2), LabelledImages(images, labels), none, none
    )
    for batch, batch_labels in data.training_batches(7, seed=0).epoch(3):
        assert torch.equal(NORMALIZATION.undo(batch).amax((1, 2, 3)).long(), batch_labels + 1)


@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_processes_together_see_one_large_batch(dataset, world_size):
    one = list(dataset.training_batches(4 * world_size, seed=3).epoch(1))
    ranks = [dataset.training_batches(4, 3, "cpu", rank, world_size) for rank in range(world_size)]
    together = [
        tuple(map(torch.cat, zip(*shares, strict=True)))
        for shares in zip(*(rank.epoch(1) for rank in ranks), strict=True)
    ]
    assert equal(one, together)


def test_the_global_generator_is_left_alone(dataset):
    before = torch.get_rng_state()
    list(dataset.training_batches(5, seed=1))
    list(dataset.evaluation_batches("test", 5))
    assert torch.equal(before, torch.get_rng_state())


def test_a_split_without_images_says_so(dataset):
    with pytest.raises(ValueError, match="data set made has no validation images, only: train, test"):
        dataset.evaluation_batches("validation", 5)


def test_normalization_can_be_undone():
    images = torch.arange(256, dtype=torch.uint8).view(1, 1, 16, 16).expand(2, 3, 16, 16)
    assert torch.equal(NORMALIZATION.undo(NORMALIZATION.apply(images)), images)


@pytest.mark.parametrize("std", [(0.5, 0.5), (0.5, 0.5, 0.0)])
def test_a_normalization_needs_a_positive_deviation_per_channel(std):
    with pytest.raises(ValueError, match="one mean and one positive standard deviation per channel"):
        Normalization((0.5, 0.5, 0.5), std)


def test_without_augmentation_only_the_order_changes(dataset):
    dataset.augmentation = NoAugmentation()
    images = torch.cat([images for images, _ in dataset.training_batches(5, seed=0)])
    stored = NORMALIZATION.apply(dataset.splits["train"].images)
    assert sorted(map(torch.Tensor.tolist, images)) == sorted(map(torch.Tensor.tolist, stored))
