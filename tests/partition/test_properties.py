"""Invariants that every partition keeps, on random labels, client counts and seeds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedlib.errors import UsageError
from fedlib.partition import PARTITIONS, label_counts, make_partition, split_within_clients

NAMES = sorted(set(PARTITIONS) - {"from_file"})
LABELS = np.random.default_rng(7).integers(0, 10, size=4000)
GROUPS = np.random.default_rng(8).integers(0, 40, size=4000)


def build(name, seed=0, num_clients=20, labels=LABELS, groups=GROUPS, num_classes=10, **options):
    if name == "sources":
        groups = groups % 3
    return make_partition(
        name,
        labels=labels,
        num_classes=num_classes,
        num_clients=num_clients,
        rng=np.random.default_rng(seed),
        groups=groups,
        **options,
    )


def attempt(*arguments, **options):
    """The partition and no message, or no partition and the message of the refusal."""
    try:
        return build(*arguments, **options), ""
    except UsageError as error:
        return None, str(error)


def equal(one, other):
    return len(one) == len(other) and all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@settings(max_examples=150, deadline=None)
@given(
    name=st.sampled_from(NAMES),
    num_clients=st.integers(1, 40),
    num_images=st.integers(1, 800),
    skew=st.sampled_from([0.0, 1.0]),
    seed=st.integers(0, 2**32),
)
def test_disjoint_sorted_and_never_empty_or_one_clear_line(name, num_clients, num_images, skew, seed):
    rng = np.random.default_rng(seed)
    frequency = rng.dirichlet(np.ones(10)) * skew + (1 - skew) / 10
    labels = rng.choice(10, size=num_images, p=frequency)
    groups = rng.integers(0, 6, size=num_images)
    partition, refusal = attempt(name, seed, num_clients, labels, groups)
    if partition is None:
        assert "\n" not in refusal
        assert f"partition '{name}'" in refusal
        assert "allowed" in refusal
        return
    assert len(partition) == num_clients
    assert all(len(indices) > 0 and indices.dtype == np.int64 for indices in partition)
    assert all((np.diff(indices) > 0).all() for indices in partition)
    together = np.concatenate(partition)
    assert len(np.unique(together)) == len(together)
    assert together.min() >= 0
    assert together.max() < num_images


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_result_and_another_seed_differs(name):
    assert equal(build(name, seed=3), build(name, seed=3))
    assert not equal(build(name, seed=3), build(name, seed=4))


@pytest.mark.parametrize("name", NAMES)
def test_global_random_state_is_neither_read_nor_changed(name):
    np.random.seed(1)  # noqa: NPY002 - the global state is what is tested
    first = build(name)
    untouched = np.random.random()  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    assert untouched == np.random.random()  # noqa: NPY002
    assert equal(first, build(name))


@pytest.mark.parametrize("name", NAMES)
def test_labels_are_not_changed(name):
    labels = LABELS.copy()
    build(name, labels=labels)
    np.testing.assert_array_equal(labels, LABELS)


@pytest.mark.parametrize(
    "name", ["iid", "equal_shards", "nonequal_shards", "label_volume", "sources", "dirichlet"]
)
def test_partitions_that_use_every_image(name):
    np.testing.assert_array_equal(np.sort(np.concatenate(build(name))), np.arange(len(LABELS)))


@settings(max_examples=60, deadline=None)
@given(
    num_clients=st.integers(1, 30),
    classes=st.integers(2, 12),
    sigma=st.floats(0, 1),
    num_images=st.integers(30, 900),
    seed=st.integers(0, 2**32),
)
def test_majority_is_exact_for_any_shape(num_clients, classes, sigma, num_images, seed):
    labels = np.random.default_rng(seed).integers(0, classes, size=num_images)
    partition, refusal = attempt("majority", seed, num_clients, labels, None, classes, sigma=sigma)
    if partition is None:
        assert "do not suffice" in refusal or "num_clients is" in refusal
        return
    counts = label_counts(partition, labels, classes)
    size = len(partition[0])
    assert (counts.sum(axis=1) == size).all()
    assert ((counts == int(sigma * size + 0.5)).any(axis=1)).all()


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(2, 50), min_size=1, max_size=8),
    fraction=st.floats(0.05, 0.95),
    seed=st.integers(0, 2**32),
)
def test_split_within_clients_keeps_every_image_once(sizes, fraction, seed):
    partition = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    train, test = split_within_clients(partition, fraction, np.random.default_rng(seed))
    for whole, part, rest in zip(partition, train, test, strict=True):
        assert len(part) > 0
        assert len(rest) > 0
        assert abs(len(part) - fraction * len(whole)) <= 1
        np.testing.assert_array_equal(np.sort(np.concatenate([part, rest])), whole)
