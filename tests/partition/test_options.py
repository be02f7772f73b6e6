"""Wrong names, options and values end in one line that says what was given and what is allowed."""

import numpy as np
import pytest

from fedlib.errors import UsageError
from fedlib.partition import PARTITIONS, make_partition, partition_ce, partition_cn, partition_options

LABELS = np.repeat(np.arange(10), 60)


def build(name, labels=LABELS, num_classes=10, num_clients=10, groups=None, **options):
    rng = np.random.default_rng(0)
    return make_partition(
        name,
        labels=labels,
        num_classes=num_classes,
        num_clients=num_clients,
        rng=rng,
        groups=groups,
        **options,
    )


def test_unknown_name_lists_the_names():
    with pytest.raises(UsageError, match=r"unknown partition 'dirchlet'.*mean 'dirichlet'.*allowed: iid, "):
        build("dirchlet")


def test_unknown_option_lists_the_options():
    with pytest.raises(UsageError) as error:
        build("ce", detla=0.6)
    assert str(error.value) == (
        "unknown option of partition 'ce' 'detla' (did you mean 'delta'?); "
        "allowed: delta, labels_per_client, images_per_label"
    )


def test_a_partition_without_options_says_none():
    with pytest.raises(UsageError, match="option of partition 'iid' 'alpha'; allowed: none"):
        build("iid", alpha=1)


@pytest.mark.parametrize("make", [partition_ce, partition_cn])
@pytest.mark.parametrize("delta", [1.5, 0.0, -0.2, "0.6"])
def test_a_share_of_the_main_cluster_out_of_range_is_refused_in_direct_calls(make, delta):
    name = make.__name__.removeprefix("partition_")
    with pytest.raises(UsageError) as error:
        make(
            LABELS, num_classes=10, num_clients=10, delta=delta,
            rng=np.random.default_rng(0),
        )  # fmt: skip
    assert str(error.value) == f"partition {name!r}: delta is {delta!r}; allowed: a number in (0, 1]"


def test_missing_option():
    with pytest.raises(UsageError, match="partition 'from_file' needs the option 'path'"):
        build("from_file")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("ce", {"delta": 1.5}, r"'ce': delta is 1.5; allowed: a number in \(0, 1\]"),
        ("ce", {"delta": "0.6"}, r"'ce': delta is '0.6'; allowed: a number"),
        ("ce", {"delta": float("nan")}, "delta is nan"),
        ("ce", {"delta": 0.01}, "delta 0.01 of 10 clients is none"),
        ("ce", {"labels_per_client": 6}, "labels_per_client is 6 of 10; allowed: at most 5"),
        (
            "ce",
            {"labels_per_client": True},
            "labels_per_client is True; allowed: a whole number from 1 to 10",
        ),
        ("ce", {"images_per_label": 11}, "images_per_label is 11; allowed: a whole number from 1 to 10"),
        ("cn", {"spread": -0.1}, r"'cn': spread is -0.1; allowed: a number in \[0, 1\]"),
        ("pa", {"labels_per_client": 11}, "labels_per_client is 11; allowed: a whole number from 1 to 10"),
        ("majority", {"sigma": 2}, r"'majority': sigma is 2; allowed: a number in \[0, 1\]"),
        (
            "majority",
            {"images_per_client": 61},
            "images_per_client is 61; allowed: a whole number from 1 to 60",
        ),
        ("dirichlet", {"alpha": 0}, r"'dirichlet': alpha is 0; allowed: a number in \(0, "),
        (
            "label_volume",
            {"label_skew": "some"},
            "label_skew is 'some'; allowed: 'none', 'balanced', 'unbalanced'",
        ),
        ("label_volume", {"volume_skew": 1}, "volume_skew is 1; allowed: False, True"),
        (
            "equal_shards",
            {"shards_per_client": 0},
            "shards_per_client is 0; allowed: a whole number from 1 up",
        ),
        ("equal_shards", {"shards_per_client": 61}, "610 shards for 10 clients; allowed: at most 600"),
        ("nonequal_shards", {"max_shards": 9}, "max_shards is 9; allowed: a whole number from 10 up"),
    ],
)
def test_wrong_values(name, options, message):
    with pytest.raises(UsageError, match=message) as error:
        build(name, **options)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("num_clients", [0, -1, 601, 2.0])
def test_number_of_clients(num_clients):
    with pytest.raises(UsageError, match=r"num_clients is .* allowed: a whole number from 1 to 600"):
        build("iid", num_clients=num_clients)


def test_labels_per_client_has_no_default_for_other_class_counts():
    labels = np.repeat(np.arange(62), 20)
    with pytest.raises(
        UsageError, match="labels_per_client is not given; allowed: a whole number from 1 to 62"
    ):
        build("pa", labels=labels, num_classes=62)
    assert len(build("pa", labels=labels, num_classes=62, labels_per_client=12)) == 10


def test_dirichlet_gives_up_after_a_bounded_number_of_draws():
    """With alpha this small a label goes to one client, and 10 labels cannot fill 40 clients."""
    with pytest.raises(
        UsageError, match=r"alpha 0\.001 leaves client .* of 40 .*last of 100 draws; allowed: a"
    ):
        build("dirichlet", num_clients=40, alpha=0.001)


def test_too_few_images_of_a_label():
    with pytest.raises(UsageError, match="'ce': label 0 has 60 images for 180 clients"):
        build("ce", num_clients=300)


def test_labels_outside_the_classes():
    with pytest.raises(UsageError, match="labels from 0 to 9; allowed: 0 to 4"):
        build("iid", num_classes=5)


@pytest.mark.parametrize("labels", [np.array([]), np.array([0.0, 1.0]), np.zeros((2, 2), dtype=int)])
def test_labels_of_the_wrong_kind(labels):
    with pytest.raises(UsageError, match="allowed: a list of whole numbers"):
        build("iid", labels=labels, num_clients=1)


@pytest.mark.parametrize("name", ["natural", "sources"])
def test_groups_are_required(name):
    with pytest.raises(UsageError, match=f"partition '{name}' needs data with groups"):
        build(name)


def test_more_clients_than_writers_or_fewer_than_sources():
    groups = np.arange(600) % 5
    with pytest.raises(UsageError, match=r"10 clients, but 5 of 5 groups .* allowed: at most 5 clients"):
        build("natural", groups=groups)
    with pytest.raises(UsageError, match="4 clients for 5 sources; allowed: at least 5"):
        build("sources", groups=groups, num_clients=4)


def test_every_partition_describes_its_options():
    assert partition_options("cn") == {
        "delta": 0.6,
        "labels_per_client": None,
        "images_per_label": None,
        "spread": 0.11,
    }
    assert all(PARTITIONS[name].__doc__ for name in PARTITIONS)
