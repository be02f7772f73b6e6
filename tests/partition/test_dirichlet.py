"""NIID-Bench's two partitions and Hsu's balanced one, by hand and by invariants."""

import numpy as np
import pytest

from fedlib.errors import UsageError
from fedlib.partition import label_counts, make_partition
from fedlib.partition.dirichlet import _deal_capped, _take

LABELS = np.repeat(np.arange(10), 600)


def counts_of(name, *, clients=10, seed=0, labels=LABELS, classes=10, **options):
    partition = make_partition(
        name,
        labels=labels,
        num_classes=classes,
        num_clients=clients,
        rng=np.random.default_rng(seed),
        **options,
    )
    taken = np.concatenate(partition)
    assert len(np.unique(taken)) == len(taken)
    return label_counts(partition, labels, classes)


def test_a_full_client_gets_no_more():
    """Two clients, 10 images of each of three labels, so the limit is 15.

    Label 0: 9 and 1. Label 1: 8 and 2, so client 0 holds 17. Label 2: client 0 is full, all go to client 1.
    """
    shares = np.array([[0.9, 0.8, 0.9], [0.1, 0.2, 0.1]])
    assert _deal_capped(shares, np.array([10, 10, 10])).tolist() == [[9, 8, 0], [1, 2, 10]]


def test_shares_that_vanish_go_to_clients_with_room():
    shares = np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    counts = _deal_capped(shares, np.array([12, 12]))
    assert counts.tolist() == [[12, 0], [0, 6], [0, 6]]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("clients", [1, 3])
@pytest.mark.parametrize("only", [0, 4, 9])
def test_labels_without_images_are_passed_over(clients, only):
    """They may come first, between, or last, when every client is at its limit."""
    labels = np.full(12, only)
    counts = counts_of("dirichlet", clients=clients, labels=labels, cap=True)
    assert counts.sum(axis=0).tolist() == [12 * (label == only) for label in range(10)]
    whole = counts_of("dirichlet", clients=1, labels=LABELS[LABELS < 8], cap=True)
    assert whole.tolist() == [[600] * 8 + [0] * 2]


def test_a_label_without_images_draws_what_it_drew_before():
    """The shares of all labels are drawn at once, so that the others' stay as they are."""
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.full(4, 0.5), size=3).T
    counts = counts_of("dirichlet", clients=4, labels=LABELS[LABELS < 2], classes=3, cap=True)
    assert counts.tolist() == _deal_capped(shares, np.array([600, 600, 0])).tolist()
    two = _deal_capped(shares[:, :2], np.array([600, 600]))
    assert counts.tolist() == np.pad(two, ((0, 0), (0, 1))).tolist()


@pytest.mark.parametrize("seed", range(5))
def test_capped_dirichlet_uses_every_image_and_bounds_the_sizes(seed):
    counts = counts_of("dirichlet", seed=seed, alpha=0.5, cap=True, min_images=10)
    assert (counts.sum(axis=0) == 600).all()
    sizes = counts.sum(axis=1)
    assert sizes.min() >= 10
    assert sizes.max() < 600 + 600  # below the limit before its last label, which adds 600 at the most
    plain = counts_of("dirichlet", seed=seed, alpha=0.5)
    assert sizes.std() < plain.sum(axis=1).std()


def test_cap_is_true_or_false():
    with pytest.raises(UsageError, match="cap is 'yes'; allowed: False, True"):
        counts_of("dirichlet", cap="yes")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("alpha", [0.1, 100.0])
def test_balanced_clients_have_equal_sizes(seed, alpha):
    counts = counts_of("dirichlet_balanced", clients=60, seed=seed, alpha=alpha)
    assert (counts.sum(axis=1) == 100).all()
    assert (counts.sum(axis=0) <= 600).all()
    largest = (counts.max(axis=1) / 100).mean()
    assert largest > 0.6 if alpha == 0.1 else largest < 0.3


def test_a_label_that_is_used_up_is_replaced():
    """4 of 6 from label 0 with 2 left, 2 from label 1: two go on to label 1, the only one with a share."""
    assert _take(np.array([2 / 3, 1 / 3, 0.0]), np.array([2, 9, 9]), 6).tolist() == [2, 4, 0]
    assert _take(np.array([1.0, 0.0, 0.0]), np.array([2, 9, 9]), 6).tolist() == [2, 2, 2]


@pytest.mark.parametrize("labels_per_client", [1, 2, 3, 10])
def test_label_quantity_gives_every_client_so_many_labels(labels_per_client):
    counts = counts_of("label_quantity", labels_per_client=labels_per_client)
    assert ((counts > 0).sum(axis=1) == labels_per_client).all()
    assert (counts.sum(axis=0) == 600).all()  # ten clients: client i has label i
    for column in counts.T:
        owners = column[column > 0]
        assert owners.max() - owners.min() <= 1


def test_labels_that_nobody_has_are_unused():
    counts = counts_of("label_quantity", clients=3, labels_per_client=1)
    assert counts.sum() == 1800
    assert np.diag(counts[:, :3]).tolist() == [600, 600, 600]


def test_more_labels_than_there_are_is_one_line():
    with pytest.raises(UsageError, match="labels_per_client is 11; allowed: a whole number from 1 to 10"):
        counts_of("label_quantity", labels_per_client=11)
