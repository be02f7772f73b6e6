"""The buffer and its two sampling rules."""

import numpy as np
import pytest
import torch

from fedlib.errors import UsageError
from fedlib.rl import Replay, sample_proportional


def filled(count, replicas=2, capacity=100):
    """Experience i of replica r: every number is 10 r + i."""
    replay = Replay.empty(replicas, 3, 2)
    for i in range(count):
        value = torch.tensor([10.0 * r + i for r in range(replicas)])
        wide = value[:, None].expand(-1, 3)
        replay = replay.add(wide, value[:, None].expand(-1, 2), value, wide + 0.5, capacity=capacity)
    return replay


def test_experiences_come_back_oldest_first():
    replay = filled(3)
    assert len(replay) == 3
    assert replay.rewards.tolist() == [[0, 1, 2], [10, 11, 12]]
    batch = replay.take(torch.tensor([[2, 0], [1, 1]]))
    assert batch.rewards.tolist() == [[2, 0], [11, 11]]
    assert batch.states[0, 0].tolist() == [2, 2, 2]
    assert batch.next_states[1, 0].tolist() == [11.5, 11.5, 11.5]
    assert batch.actions.shape == (2, 2, 2)


def test_the_oldest_gives_way_at_capacity():
    assert filled(5, capacity=3).rewards.tolist() == [[2, 3, 4], [12, 13, 14]]


def test_a_buffer_for_nothing_is_refused():
    with pytest.raises(UsageError, match="capacity=0 given for a replay buffer; allowed: 1 or more"):
        filled(1, capacity=0)


def test_adding_leaves_the_old_buffer_alone():
    replay = filled(2)
    replay.add(torch.ones(2, 3), torch.ones(2, 2), torch.ones(2), torch.ones(2, 3), capacity=9)
    assert len(replay) == 2


def test_merging_joins_neighbouring_replicas():
    merged = filled(2, replicas=4).merge(2)
    assert merged.rewards.tolist() == [[0, 1, 10, 11], [20, 21, 30, 31]]
    assert merged.states.shape == (2, 4, 3)


def test_proportional_draws_by_hand():
    """Priorities 1, 3, 0, 6 (each + 1e-6): the unit interval is cut at 0.1, 0.4, 0.4, 1."""
    priorities = torch.tensor([[1.0, 3.0, 0.0, 6.0]])
    uniforms = torch.tensor([[[0.0, 0.09], [0.11, 0.39], [0.41, 0.999]]])
    assert sample_proportional(priorities, uniforms).tolist() == [[[0, 0], [1, 1], [3, 3]]]


def test_proportional_frequencies():
    """40,000 draws from a fixed stream: chi-square with 4 degrees of freedom, 99.9 % quantile 18.5."""
    priorities = torch.tensor([[5.0, 1.0, 0.5, 3.0, 0.5], [1.0, 1.0, 1.0, 1.0, 1.0]])
    uniforms = torch.from_numpy(np.random.default_rng(0).random((2, 10_000, 4)))
    picks = sample_proportional(priorities, uniforms)
    assert picks.shape == (2, 10_000, 4)
    for row, weights in zip(picks, priorities, strict=True):
        observed = torch.bincount(row.flatten(), minlength=5).double()
        expected = 40_000 * (weights / weights.sum()).double()
        assert ((observed - expected).square() / expected).sum() < 18.5


def test_all_errors_zero_is_uniform():
    uniforms = torch.from_numpy(np.random.default_rng(1).random((1, 1000, 4)))
    counts = torch.bincount(sample_proportional(torch.zeros(1, 4), uniforms).flatten(), minlength=4)
    assert counts.min() > 900


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_proportional_draws_follow_their_experiences(order):
    priorities = torch.tensor([[0.2, 0.0, 0.8]])[:, order]
    uniforms = torch.from_numpy(np.random.default_rng(2).random((1, 500, 1)))
    drawn = {order[i] for i in sample_proportional(priorities, uniforms).flatten().tolist()}
    assert drawn == {0, 2}
