"""Mini-batch schedules: every sample once per epoch, the same on every device, for one lane or many."""

import numpy as np
import pytest
import torch

from fedlib import seeds
from fedlib.engine import Samples, batches, make_work, stream_keys
from fedlib.engine.batches import make_schedule
from fedlib.errors import UsageError
from fedlib.seeds import counter


def lanes(sizes, epochs, first_epoch=0, steps_limit=None, seed=0, order="shuffled"):
    starts = np.cumsum([0, *sizes[:-1]])
    indices = [np.arange(a, a + n) for a, n in zip(starts, sizes, strict=True)]
    clients = range(len(sizes))
    return make_work(
        indices,
        replica=[0] * len(sizes),
        client=clients,
        key=stream_keys([seed] * len(sizes), 0, clients),
        epochs=epochs,
        first_epoch=first_epoch,
        learning_rate=0.1,
        steps_limit=steps_limit,
        order=order,
    )


def visited(schedule, lane):
    return schedule.index[:, lane][schedule.mask[:, lane] > 0].tolist()


def test_every_epoch_visits_every_sample_once_in_a_new_order():
    schedule = make_schedule(lanes([10, 7], epochs=2), 3)
    assert schedule.active == [2] * 6 + [1] * 2  # ceil(10/3) * 2 = 8 and ceil(7/3) * 2 = 6
    assert schedule.full == [True, True, False, False, True, False, True, False]
    for lane, samples in enumerate([range(10), range(10, 17)]):
        order = visited(schedule, lane)
        half = len(order) // 2
        assert sorted(order[:half]) == sorted(order[half:]) == list(samples)
        assert order[:half] != order[half:]


def test_stored_order_goes_through_every_epoch_from_front_to_back():
    """Samples 0..9 and 10..16 in batches of 3, two epochs: the last batch of an epoch is what is left."""
    schedule = make_schedule(lanes([10, 7], epochs=2, order="stored"), 3)
    assert visited(schedule, 0) == [*range(10), *range(10)]
    assert visited(schedule, 1) == [*range(10, 17), *range(10, 17)]
    assert schedule.active == [2] * 6 + [1] * 2
    assert schedule.full == [True, True, False, False, True, False, True, False]
    other = make_schedule(lanes([10, 7], epochs=2, order="stored", seed=1), 3)
    assert torch.equal(other.index, schedule.index)  # no stream decides it
    rest = make_schedule(lanes([10, 7], epochs=2, first_epoch=1, order="stored").select(np.array([1])), 3)
    assert visited(rest, 0) == list(range(10, 17))


def test_an_unknown_order_is_one_line():
    with pytest.raises(UsageError, match=r"unknown sample order 'sorted'.*allowed: shuffled, stored"):
        lanes([3], epochs=1, order="sorted")


def test_a_lane_is_scheduled_alike_alone_and_among_others():
    among = make_schedule(lanes([10, 7, 5], epochs=3), 4)
    alone = make_schedule(lanes([10, 7, 5], epochs=3).select(np.array([1])), 4)
    assert visited(among, 1) == visited(alone, 0)


def test_continued_epochs_are_those_of_the_whole_round():
    whole = make_schedule(lanes([9, 8], epochs=4), 4)
    rest = make_schedule(lanes([9, 8], epochs=4, first_epoch=1), 4)
    assert visited(whole, 1)[8:] == visited(rest, 1)
    assert torch.equal(whole.key[3:, 0], rest.key[:, 0])


def test_step_limit_stops_after_the_first_batches():
    schedule = make_schedule(lanes([9, 8], epochs=4, steps_limit=1), 4)
    assert schedule.active == [2]


def test_seeds_and_rounds_give_different_streams():
    keys = {int(stream_keys([s], r, [k])[0]) for s in range(3) for r in range(3) for k in range(3)}
    assert len(keys) == 27
    assert visited(make_schedule(lanes([9], 1, seed=0), 4), 0) != visited(
        make_schedule(lanes([9], 1, seed=1), 4), 0
    )


def test_fetch_normalises_uint8_and_float_images_alike():
    images = np.array([[[0, 255], [51, 102]]], dtype=np.uint8)
    index = torch.tensor([0])
    expected = (torch.tensor([[0.0, 1.0], [0.2, 0.4]]) - 0.5) / 0.25
    for array in (images, (images / 255).astype(np.float32)):
        samples = Samples.from_arrays(array, np.array([1]), mean=[0.5], std=[0.25])
        torch.testing.assert_close(samples.fetch(index)[0, 0], expected)


def test_hash_is_uniform_and_its_bits_are_fixed():
    values = counter.uniform(torch.arange(500)[:, None], torch.arange(500))
    assert abs(float(values.mean()) - 0.5) < 0.005
    assert abs(float(values.var()) * 12 - 1) < 0.01
    counts = torch.histc(values, bins=16, min=0, max=1)
    chi_square = float(((counts - 250_000 / 16) ** 2 / (250_000 / 16)).sum())
    assert chi_square < 38  # 99.9 % quantile for 15 degrees of freedom
    assert counter.hash_bits(1, 2) == int(counter.hash_bits(torch.tensor(1), torch.tensor(2)))
    assert seeds.derive(0, "cohort", 1) != seeds.derive("0", "cohort", 1)


def test_continued_work_builds_only_the_epochs_it_runs(monkeypatch):
    """Training epoch by epoch takes as many orders as epochs, and the orders are those of one go."""
    lists = [np.arange(5), np.arange(5, 8)]

    def schedule(epochs, first_epoch):
        work = make_work(lists, replica=[0, 0], client=[0, 1], key=stream_keys([0, 0], 1, [0, 1]),
                         epochs=epochs, first_epoch=first_epoch, learning_rate=0.1)  # fmt: skip
        return batches.make_schedule(work, 5)

    whole, made, order = schedule(4, 0), [], batches.epoch_order
    monkeypatch.setattr(batches, "epoch_order", lambda *given: made.append(1) or order(*given))
    parts = [schedule(epoch + 1, epoch) for epoch in range(4)]
    assert len(made) == 4
    assert torch.equal(torch.cat([part.index for part in parts]), whole.index)
    assert torch.equal(torch.cat([part.key for part in parts]), whole.key)


@pytest.mark.parametrize("limit", [0.0, 0.1, 0.25, 1 / 3, 0.5, 1.0])
def test_numpy_hashes_as_tensors_do(monkeypatch, limit):
    """Broadcast, transposed, large and negative keys; more than one block of them."""
    keys = torch.arange(-6, 6).view(3, 4).t()[:, :, None] * 10_000_000_019, 7, torch.arange(5000)
    found = [counter.hash_bits(*keys), counter.uniform(*keys), counter.at_least(limit, *keys)]
    assert counter._on_host(keys)
    assert found[0].numel() > counter._BLOCK
    monkeypatch.setattr(counter, "_on_host", lambda keys: False)
    expected = [counter.hash_bits(*keys), counter.uniform(*keys), counter.at_least(limit, *keys)]
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype
        assert torch.equal(ours, theirs)
