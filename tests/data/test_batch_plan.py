"""Which image stands in which batch, and its random numbers: whatever the epoch, the start, and the processes."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headgrid.data.batch_plan import BatchPlan, ShuffledOrder, StoredOrder
from headgrid.data.random_stream import Purpose, random_stream


def equal(left, right):
    return len(left) == len(right) and all(
        torch.equal(a, b) for x, y in zip(left, right, strict=True) for a, b in zip(x, y, strict=True)
    )


def test_shuffled_epochs_hold_every_image_once_in_different_orders():
    plan = BatchPlan(50, 8, ShuffledOrder(0))
    orders = [torch.cat([batch.indices for batch in plan.epoch(epoch)]) for epoch in range(3)]
    for order in orders:
        assert torch.equal(order.sort().values, torch.arange(50))
    for first, second in itertools.combinations(orders, 2):
        assert not torch.equal(first, second)


def test_stored_order_is_the_stored_order():
    plan = BatchPlan(10, 4, StoredOrder())
    assert [batch.indices.tolist() for batch in plan.epoch(5)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


@settings(max_examples=40, deadline=None)
@given(
    num_images=st.integers(0, 40),
    batch_size=st.integers(1, 12),
    epoch=st.integers(0, 5),
    data=st.data(),
)
def test_an_epoch_can_begin_at_any_batch(num_images, batch_size, epoch, data):
    plan = BatchPlan(num_images, batch_size, ShuffledOrder(7), num_uniforms=3)
    first = data.draw(st.integers(0, len(plan)))
    assert equal(list(plan.epoch(epoch))[first:], list(plan.epoch(epoch, first)))


@settings(max_examples=60, deadline=None)
@given(num_images=st.integers(0, 60), batch_size=st.integers(1, 7), world_size=st.integers(1, 5))
def test_processes_share_what_one_process_would_see(num_images, batch_size, world_size):
    one = BatchPlan(num_images, batch_size * world_size, ShuffledOrder(1), num_uniforms=2)
    parts = [BatchPlan(num_images, batch_size, ShuffledOrder(1), 2, rank, world_size) for rank in range(world_size)]
    num_left = num_images % (batch_size * world_size)
    num_dropped = num_left if num_left < world_size else 0

    whole = list(one.epoch(2))[: len(parts[0])]
    together = list(zip(*(part.epoch(2) for part in parts), strict=True))

    assert len(together) == len(whole) == len(parts[0])
    assert {part.num_images for part in parts} == {num_images - num_dropped}
    for expected, shares in zip(whole, together, strict=True):
        sizes = [len(share.indices) for share in shares]
        assert min(sizes) >= 1
        assert max(sizes) - min(sizes) <= 1
        assert max(sizes) <= batch_size
        assert torch.equal(expected.indices, torch.cat([share.indices for share in shares]))
        assert torch.equal(expected.uniforms, torch.cat([share.uniforms for share in shares]))


def test_random_numbers_differ_between_seeds_epochs_and_batches():
    def numbers(seed, epoch):
        plan = BatchPlan(8, 4, ShuffledOrder(seed), num_uniforms=2)
        return [batch.uniforms for batch in plan.epoch(epoch)]

    drawn = [*numbers(0, 0), *numbers(0, 1), *numbers(1, 0)]
    for first, second in itertools.combinations(drawn, 2):
        assert not torch.equal(first, second)
    assert all((uniforms >= 0).all() and (uniforms < 1).all() for uniforms in drawn)


def test_does_not_touch_the_global_generator():
    before = torch.get_rng_state()
    list(BatchPlan(30, 4, ShuffledOrder(0), num_uniforms=3).epoch(1))
    assert torch.equal(before, torch.get_rng_state())


def test_streams_depend_on_purpose_and_place():
    def first(*key):
        return torch.rand(4, generator=random_stream(*key)).tolist()

    keys = [
        (0, Purpose.ORDER),
        (0, Purpose.ORDER, 0),
        (0, Purpose.ORDER, 1),
        (0, Purpose.ORDER, 0, 1),
        (0, Purpose.ORDER, 1, 0),
        (0, Purpose.AUGMENTATION, 0),
        (1, Purpose.ORDER, 0),
        (2**32, Purpose.ORDER, 0),
        (2**64 + 1, Purpose.ORDER, 0),
    ]
    assert len({tuple(first(*key)) for key in keys}) == len(keys)
    assert first(*keys[3]) == first(*keys[3])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BatchPlan(10, 0, StoredOrder()), "batch_size must be at least 1, not 0"),
        (lambda: BatchPlan(10, 1, StoredOrder(), rank=2, world_size=2), "rank must be from 0 to 1, not 2"),
        (lambda: BatchPlan(10, 4, StoredOrder()).epoch(0, 4), "first_batch goes up to the 3 batches"),
        (lambda: BatchPlan(10, 4, StoredOrder()).epoch(-1), "epochs count from 0"),
        (lambda: random_stream(-1, Purpose.ORDER), "a seed is a whole number from 0 on, not -1"),
    ],
)
def test_wrong_arguments_are_named_at_once(make, message):
    with pytest.raises(ValueError, match=message):
        make()
