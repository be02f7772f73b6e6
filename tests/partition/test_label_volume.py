"""The FRL report's generator, its four cases and the same shares for training and test data."""

import numpy as np
import pytest

from fedlib.errors import UsageError
from fedlib.partition import label_counts, make_partition, partition_by_shares, partition_like, volume_shares

TRAIN = np.repeat(np.arange(10), 600)
TEST = np.repeat(np.arange(10), 100)


def shares(num_clients=20, seed=0, **options):
    return volume_shares(10, num_clients, np.random.default_rng(seed), **options)


def test_iid_labels_and_volume_divide_evenly():
    np.testing.assert_allclose(shares(), 1 / 20)


def test_skewed_volume_is_half_to_one_and_a_half_times_the_mean():
    relative = shares(100, volume_skew=True) * 100
    assert relative.min() > 0.35
    assert relative.max() < 1.65
    assert relative.std() == pytest.approx(1 / np.sqrt(12), rel=0.1)  # e_i is uniform on [0, 1]
    np.testing.assert_allclose(relative.mean(axis=0), 1)


@pytest.mark.parametrize(("num_clients", "holders"), [(20, 6), (100, 30)])
def test_balanced_labels_have_equally_many_places(num_clients, holders):
    held = shares(num_clients, label_skew="balanced") > 0
    assert (held.sum(axis=0) == holders).all()
    assert (held.sum(axis=1) == 3).all()


def test_balanced_label_sets_are_mixed():
    """Without the trades, the cyclic deal of 10 labels would give 10 distinct sets only."""
    held = shares(100, label_skew="balanced") > 0
    assert len({row.tobytes() for row in held}) > 40  # 100 random sets of the possible 120: about 68


def test_unbalanced_labels_leave_one_label_to_the_late_workers():
    drawn = [shares(20, seed, label_skew="unbalanced") for seed in range(30)]
    for matrix in drawn:
        holders = np.sort((matrix > 0).sum(axis=0))
        assert (holders[:9] == 1).all()
        assert holders[9] >= 16
        assert ((matrix > 0).sum(axis=1) >= 1).all()


def test_nine_single_labels_last_for_3_94_workers_on_average():
    """A worker draws three of the s single labels left and the common one: with chance 3 / (s + 1) the
    common one is among them and two single labels go, else three. E(9) = 1 + 0.3 E(7) + 0.7 E(6) = 3.942
    from E(0) = 0, E(1) = E(2) = 1.
    """
    last = []
    for seed in range(400):
        held = shares(40, seed, label_skew="unbalanced") > 0
        common = held.sum(axis=0).argmax()
        last.append(np.flatnonzero(np.delete(held, common, axis=1).any(axis=1)).max() + 1)
    assert np.mean(last) == pytest.approx(3.942, abs=0.1)


@pytest.mark.parametrize("label_skew", ["none", "balanced", "unbalanced"])
@pytest.mark.parametrize("volume_skew", [False, True])
def test_training_and_test_data_have_the_same_shares(label_skew, volume_skew):
    matrix = shares(20, label_skew=label_skew, volume_skew=volume_skew)
    np.testing.assert_allclose(matrix.sum(axis=0), 1)
    train = label_counts(partition_by_shares(TRAIN, matrix, np.random.default_rng(1)), TRAIN, 10)
    test = label_counts(partition_by_shares(TEST, matrix, np.random.default_rng(2)), TEST, 10)
    assert train.sum() == 6000
    assert test.sum() == 1000
    np.testing.assert_allclose(train / 600, test / 100, atol=1 / 100 + 1 / 600)


def test_partition_like_carries_any_partition_over():
    rng = np.random.default_rng(0)
    partition = make_partition("ce", labels=TRAIN, num_classes=10, num_clients=10, rng=rng)
    test = label_counts(partition_like(partition, TRAIN, TEST, 10, rng), TEST, 10)
    # CE gives each client of the main group 1/6 of labels 0 and 1, the others 1/6 of theirs.
    assert set(test[test > 0]) == {16, 17}
    assert [tuple(np.flatnonzero(row)) for row in test[-2:]] == [(6, 7), (8, 9)]


def test_partition_like_names_the_client_left_with_nothing():
    partition = [np.array([0]), np.arange(1, 6000)]
    with pytest.raises(UsageError, match="leaves client 0 of 2 without images"):
        partition_like(partition, TRAIN, TEST, 10, np.random.default_rng(0))


def test_unbalanced_is_defined_for_three_of_ten_only():
    with pytest.raises(UsageError, match="3 labels per client of 10; given: 2 of 10"):
        shares(label_skew="unbalanced", labels_per_client=2)
