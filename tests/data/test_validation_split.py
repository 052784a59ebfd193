"""A seeded, stratified part of the training images."""

import hashlib

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headgrid.data.validation_split import validation_split


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.integers(0, 30), min_size=1, max_size=6).filter(lambda counts: sum(counts) > 0),
    share=st.floats(0, 1),
    seed=st.integers(0, 2**40),
)
def test_splits_every_class_in_proportion(counts, share, seed):
    labels = torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))
    num_spare = len(labels) - sum(count > 0 for count in counts)
    num_validation = int(share * num_spare)

    train, validation = validation_split(labels, num_validation, seed)

    assert len(validation) == num_validation
    assert torch.equal(torch.cat([train, validation]).sort().values, torch.arange(len(labels)))
    assert torch.equal(train, train.sort().values)
    assert torch.equal(validation, validation.sort().values)
    for label, count in enumerate(counts):
        num_chosen = int((labels[validation] == label).sum())
        exact = count * num_validation / len(labels)
        assert count == 0 or num_chosen <= count - 1
        # A class differs from its exact share only by rounding, or because it kept its last image, or because
        # another one did.
        assert num_chosen <= exact + len(counts)
        assert num_chosen >= min(int(exact), count - 1)


def test_takes_as_many_of_each_class_where_the_classes_are_equal():
    labels = torch.arange(10).repeat(5000)
    _, validation = validation_split(labels, 5000, seed=3)
    assert torch.bincount(labels[validation]).tolist() == [500] * 10


def test_largest_remainders_get_what_rounding_leaves():
    labels = torch.tensor([0] * 10 + [1] * 6 + [2] * 4)
    _, validation = validation_split(labels, 7, seed=0)
    # Exact shares 3.5, 2.1 and 1.4.
    assert torch.bincount(labels[validation], minlength=3).tolist() == [4, 2, 1]


def test_order_of_the_labels_does_not_matter_for_the_numbers_but_the_seed_for_the_choice():
    labels = torch.arange(400) % 4
    first, again, other = (validation_split(labels, 40, seed)[1] for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_is_the_same_on_every_machine():
    """Everybody's validation set of CIFAR-10 must be the same; this one was computed on x86-64 Linux."""
    _, validation = validation_split(torch.arange(50_000) % 10, 5000, seed=0)
    content = ",".join(map(str, validation.tolist())).encode()
    assert hashlib.sha256(content).hexdigest()[:16] == "7d91fc301eb7c594"


def test_nothing_can_be_put_aside():
    train, validation = validation_split(torch.arange(10), 0, seed=0)
    assert len(train) == 10
    assert len(validation) == 0


@pytest.mark.parametrize("num_validation", [-1, 7, 100])
def test_every_class_keeps_an_image(num_validation):
    with pytest.raises(ValueError, match="at most 6 can be put aside"):
        validation_split(torch.arange(9) % 3, num_validation, seed=0)


def test_does_not_touch_the_global_generator():
    before = torch.get_rng_state()
    validation_split(torch.arange(9) % 3, 3, seed=0)
    assert torch.equal(before, torch.get_rng_state())
