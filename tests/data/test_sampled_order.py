"""A sample of a data set: each class in proportion, in the stored order, the same every time."""

import pytest
import torch

from headgrid.data import Embedded
from headgrid.data.batch_plan import BatchPlan, SampledOrder, StoredOrder, evaluation_plan


def labels_of(*counts: int) -> torch.Tensor:
    """So many images of each class, mixed."""
    labels = torch.cat([torch.full((count,), label) for label, count in enumerate(counts)])
    return labels[torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))]


@pytest.mark.parametrize("num_images", [1, 7, 20, 99, 100])
def test_each_class_has_its_share(num_images: int):
    labels = labels_of(50, 30, 15, 5)
    indices = SampledOrder(labels, num_images).indices()
    assert indices.tolist() == sorted(set(indices.tolist()))
    assert len(indices) == num_images
    counts = labels[indices].bincount(minlength=4)
    for count, share in zip(counts.tolist(), (0.50, 0.30, 0.15, 0.05), strict=True):
        assert abs(count - share * num_images) < 1


def test_is_the_same_in_every_epoch_and_for_every_batch_size():
    order = SampledOrder(labels_of(40, 20), 13)
    whole = order.indices()
    for batch_size in (1, 4, 13):
        for epoch in (0, 3):
            batches = list(BatchPlan(13, batch_size, order).epoch(epoch))
            assert torch.equal(torch.cat([batch.indices for batch in batches]), whole)
    assert not torch.equal(SampledOrder(labels_of(40, 20), 13, seed=1).indices(), whole)


def test_does_not_take_neighbours():
    """Files of a folder are often similar to the ones next to them; a prefix would be a poor sample."""
    indices = SampledOrder(torch.zeros(1000, dtype=torch.int64), 100).indices()
    assert indices[-1] > 900
    assert len(set((indices[1:] - indices[:-1]).tolist())) > 5


def test_a_data_set_hands_out_the_images_of_its_sample():
    data = Embedded(num_train=20, num_validation=20, num_test=60).load()
    every = list(data.evaluation_batches("test", 60))
    some = list(data.evaluation_batches("test", 7, sample=30))
    images, labels = every[0]
    indices = SampledOrder(labels, 30).indices()
    assert torch.equal(torch.cat([batch[0] for batch in some]), images[indices])
    assert torch.equal(torch.cat([batch[1] for batch in some]), labels[indices])
    assert data.evaluation_batches("test", 7, sample=30).num_images == 30


def test_without_a_sample_all_images_are_taken():
    assert evaluation_plan(labels_of(3, 4), 2, None) == BatchPlan(7, 2, StoredOrder())


@pytest.mark.parametrize("sample", [0, -1, 8])
def test_a_sample_has_from_one_to_all_images(sample: int):
    with pytest.raises(ValueError, match=f"{sample} images cannot be taken: expected a number from 1 to 7"):
        evaluation_plan(labels_of(3, 4), 2, sample)
