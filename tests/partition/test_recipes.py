"""The recipes' numbers: by hand, as printed in the papers, and as measured in the authors' files.

Constants marked FILES are copied from the statistics of the FedDRL authors' partition files
(feddrl_partition_files.csv); label frequencies are those of the official training sets.
"""

import numpy as np
import pytest

from fedlib.papers.feddrl.runs import FILE_SETTINGS
from fedlib.partition import label_counts, label_emd, make_partition, skew_properties, split_within_clients

MNIST = np.repeat(np.arange(10), [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949])
FASHION = np.repeat(np.arange(10), 6000)
CIFAR100 = np.repeat(np.arange(100), 500)


def counts_of(name, labels, num_clients, seed=0, **options):
    classes = int(labels.max()) + 1
    rng = np.random.default_rng(seed)
    partition = make_partition(
        name, labels=labels, num_classes=classes, num_clients=num_clients, rng=rng, **options
    )
    return label_counts(partition, labels, classes)


def test_iid_gives_feddisks_510_and_90():
    partition = make_partition(
        "iid", labels=MNIST, num_classes=10, num_clients=100, rng=np.random.default_rng(0)
    )
    train, test = split_within_clients(partition, 0.85, np.random.default_rng(1))
    assert {len(indices) for indices in partition} == {600}
    assert {len(indices) for indices in train} == {510}
    assert {len(indices) for indices in test} == {90}


def test_iid_sizes_differ_by_at_most_one():
    assert sorted(counts_of("iid", np.zeros(11, dtype=int), 3).sum(axis=1)) == [3, 4, 4]


def test_equal_shards_by_hand():
    counts = counts_of("equal_shards", np.array([0, 1, 0, 1, 0, 1, 0, 1]), 2)  # 4 shards of 2 images
    assert (counts.sum(axis=1) == 4).all()
    assert set(counts.ravel()) <= {0, 2, 4}


def test_equal_shards_match_the_files():
    """FILES, Fashion-MNIST Equal, N = 100: 600 images each, 1 to 2 labels (shards of one label)."""
    counts = counts_of("equal_shards", FASHION, 100)
    assert set(counts.sum(axis=1)) == {600}
    assert set((counts > 0).sum(axis=1)) <= {1, 2}
    assert set(counts.ravel()) <= {0, 300, 600}


@pytest.mark.parametrize("seed", range(5))
def test_nonequal_shards_are_6_to_14_and_use_all_images(seed):
    """FILES, CIFAR-100 Non-equal, N = 100: spread of sizes 0.29 to 0.36; here shards of 50 images."""
    sizes = counts_of("nonequal_shards", CIFAR100, 100, seed).sum(axis=1)
    shards = sizes / 50
    assert sizes.sum() == 50000
    assert (shards == shards.astype(int)).all()
    assert shards.min() >= 6
    assert shards.max() <= 14
    assert 0.2 < sizes.std() / sizes.mean() < 0.32  # a uniform law on 6..14 has 0.258


@pytest.mark.parametrize(
    ("labels", "num_clients", "dataset", "size", "total"),
    [  # FILES: size_max and size_total of the CE files with delta = 0.6
        (MNIST, 100, "mnist", 192, 19200),
        (MNIST, 10, "mnist", 1960, 19600),
        (FASHION, 10, "fmnist", 2000, 20000),
        (FASHION, 100, "fmnist", 200, 20000),
        (CIFAR100, 10, "cifar100", 1600, 16000),
        (CIFAR100, 100, "cifar100", 160, 16000),
    ],
)
def test_ce_matches_the_files(labels, num_clients, dataset, size, total):
    unit = FILE_SETTINGS[dataset, num_clients]["images_per_label"]
    counts = counts_of("ce", labels, num_clients, images_per_label=unit)
    sets = {tuple(np.flatnonzero(row)) for row in counts}
    per_client = 2 if len(counts[0]) == 10 else 20
    main = round(0.6 * num_clients)
    assert set(counts.sum(axis=1)) == {size}
    assert counts.sum() == total
    assert set(counts[counts > 0]) == {unit}
    assert {len(labels_held) for labels_held in sets} == {per_client}
    assert [tuple(np.flatnonzero(row)) for row in counts[:main]] == [tuple(range(per_client))] * main
    assert (counts[main:, :per_client] == 0).all()
    assert (counts.sum(axis=0) > 0).all()
    if num_clients == 10:
        assert len(sets) == 5  # FILES: distinct_label_sets


def test_ce_default_unit_is_the_largest_possible():
    assert set(counts_of("ce", MNIST, 10)[:, 0]) == {0, 5923 // 6}
    assert set(counts_of("ce", CIFAR100, 100)[:, 0]) == {0, 500 // 60}


def test_ce_blocks_by_hand():
    counts = counts_of("ce", FASHION, 10)
    blocks = [(0, 1)] * 6 + [(2, 3), (4, 5), (6, 7), (8, 9)]
    assert [tuple(np.flatnonzero(row)) for row in counts] == blocks


@pytest.mark.parametrize(("delta", "main"), [(0.2, 20), (0.4, 40), (0.5, 50), (0.8, 80), (1.0, 100)])
def test_delta_is_the_main_clusters_share(delta, main):
    """FILES, Fashion-MNIST CE, N = 100: largest_group_clients is 100 * delta."""
    counts = counts_of("ce", FASHION, 100, delta=delta)
    assert (counts[:, 0] > 0).sum() == main
    assert skew_properties(counts).main_cluster_share == main / 100


@pytest.mark.parametrize(
    ("labels", "num_clients", "spread"),
    # FILES: size_rel_std of CN, with delta = 0.6, or the main group's spread where others differ
    [(FASHION, 100, 0.106), (MNIST, 100, 0.086), (CIFAR100, 100, 0.351), (MNIST, 10, 0.35)],
)
def test_cn_sizes_are_gaussian_around_ces(labels, num_clients, spread):
    measured = []
    for seed in range(20):
        counts = counts_of("cn", labels, num_clients, seed, spread=spread)
        held = np.where(counts > 0, counts, -1)
        smallest = np.where(counts > 0, counts, counts.max()).min(axis=1)
        np.testing.assert_array_equal(held.max(axis=1), smallest)  # one unit for all labels of a client
        measured.append(skew_properties(counts[: round(0.6 * num_clients)]).size_spread)
    assert np.mean(measured) == pytest.approx(spread, rel=0.12)


def test_cn_never_exhausts_a_label_and_keeps_other_clusters():
    counts = counts_of("cn", FASHION, 10, spread=1.0)
    assert (counts.sum(axis=0) <= 6000).all()
    assert counts[counts > 0].min() >= 1
    assert set(counts_of("cn", FASHION, 10, spread=0)[:, 0]) == {0, 1000}


@pytest.mark.parametrize(
    ("labels", "num_clients"), [(MNIST, 100), (FASHION, 100), (CIFAR100, 100), (MNIST, 10)]
)
def test_pa_has_the_files_heavy_tail(labels, num_clients):
    """FILES: standard deviation of ln(size) from 1.2 to 1.8; all labels are covered."""
    measured = [counts_of("pa", labels, num_clients, seed) for seed in range(10)]
    spreads = [np.log(counts.sum(axis=1)).std() for counts in measured]
    per_client = 2 if len(measured[0][0]) == 10 else 20
    assert 1.2 < np.median(spreads) < 1.8
    for counts in measured:
        assert ((counts > 0).sum(axis=1) == per_client).all()
        assert (counts.sum(axis=0) > 0).all()
        assert (counts.sum(axis=0) <= np.bincount(labels)).all()
        for row in counts:
            assert len(set(row[row > 0])) == 1


def test_pa_is_scaled_until_the_scarcest_label_is_nearly_used_up():
    counts = counts_of("pa", FASHION, 100)
    assert 6000 - counts.sum(axis=0).max() <= 40  # rounding down costs each holder at most one


def test_majority_uses_every_image_of_balanced_data():
    """Sec. 5.5 of FedDdrl: CIFAR-10, 100 clients of 500 = 400 + 100 images (FEDDDRL-A29)."""
    counts = counts_of("majority", np.repeat(np.arange(10), 5000), 100)
    assert counts.sum() == 50000
    assert (counts.max(axis=1) == 400).all()
    assert (np.bincount(counts.argmax(axis=1)) == 10).all()
    minor = np.sort(counts, axis=1)[:, :-1]
    assert (minor.sum(axis=1) == 100).all()
    assert minor.min() >= 10
    assert minor.max() <= 13  # 100 / 9 = 11.1
    np.testing.assert_allclose(label_emd(counts), 1.4, atol=0.01)  # eq. (23) with sigma 0.8, 10 labels


def test_majority_of_mnist_has_the_printed_480_and_120():
    counts = counts_of("majority", MNIST, 100)
    assert set(counts.sum(axis=1)) == {600}
    assert set(counts.max(axis=1)) == {480}


def test_majority_of_98_clients_and_7_labels():
    counts = counts_of("majority", np.repeat(np.arange(7), 1400), 98)
    assert (np.bincount(counts.argmax(axis=1)) == 14).all()
    assert set(counts.sum(axis=1)) == {100}


@pytest.mark.parametrize(
    ("name", "clustered", "label_size", "quantity"),
    [("pa", False, True, True), ("ce", True, True, False), ("cn", True, True, True)],
)
@pytest.mark.parametrize("num_clients", [10, 100])
@pytest.mark.parametrize("labels", [MNIST, FASHION, CIFAR100], ids=["mnist", "fashion", "cifar100"])
def test_table_2_of_feddrl(name, clustered, label_size, quantity, num_clients, labels):
    for seed in range(3):
        skew = skew_properties(counts_of(name, labels, num_clients, seed))
        judged = (skew.clustered_skew, skew.label_size_imbalance, skew.quantity_imbalance)
        assert judged == (clustered, label_size, quantity)


def test_natural_takes_whole_writers():
    groups = np.repeat([10, 20, 30, 40], [5, 1, 5, 7])
    labels = np.zeros(18, dtype=int)
    partition = make_partition(
        "natural",
        labels=labels,
        num_classes=1,
        num_clients=3,
        rng=np.random.default_rng(0),
        groups=groups,
        min_images=5,
    )
    assert [set(groups[indices]) for indices in partition] == [{10}, {30}, {40}]
    assert [len(indices) for indices in partition] == [5, 5, 7]


def test_sources_are_never_mixed_and_clients_follow_their_sizes():
    """FEDDISK-A23: 100 clients of 325.5 +- 63.7 images, one source each."""
    groups = np.repeat([0, 1, 2], [21165, 662, 10723])
    partition = make_partition(
        "sources",
        labels=np.zeros(len(groups), dtype=int),
        num_classes=2,
        num_clients=100,
        rng=np.random.default_rng(0),
        groups=groups,
    )
    sources = [set(groups[indices]) for indices in partition]
    assert [sum(source == {number} for source in sources) for number in range(3)] == [65, 2, 33]
    sizes = np.array([len(indices) for indices in partition])
    assert sizes.mean() == 325.5
    assert 45 < sizes.std() < 80


def test_dirichlet_skew_grows_as_alpha_falls():
    distances = [
        label_emd(counts_of("dirichlet", FASHION, 10, alpha=alpha)).mean() for alpha in (100, 1, 0.1)
    ]
    assert distances[0] < 0.2 < distances[1] < 1.0 < distances[2]
