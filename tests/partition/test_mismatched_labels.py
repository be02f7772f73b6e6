"""Index lists made from labels that are not the images' own (FEDDRL-A25)."""

import numpy as np
import pytest

from fedlib.errors import UsageError
from fedlib.partition import label_counts, label_emd, make_partition, skew_properties

TEN = np.arange(50_000) % 10


def draw(scheme, seed=0, **options):
    rng = np.random.default_rng(seed)
    return make_partition(
        "foreign_labels", labels=TEN, num_classes=100, num_clients=10, rng=rng, scheme=scheme, **options
    )


@pytest.mark.parametrize("seed", range(5))
def test_sizes_are_the_schemes_and_the_true_labels_are_those_of_a_random_sample(seed):
    """CE of 100 labels, 80 images each: 10 x 1600. A random sample's label distance is small, a
    client with two of ten labels has 1.6."""
    lists = draw("ce", seed, delta=0.6, images_per_label=80)
    assert {len(index) for index in lists} == {1600}
    counts = label_counts(lists, TEN, 10)
    expected = 10 * np.sqrt(2 / np.pi) * np.sqrt(0.1 * 0.9 / 1600)  # sum of |N(0, pq/n)| over labels
    assert label_emd(counts).mean() == pytest.approx(expected, rel=0.35)
    skew = skew_properties(counts)
    assert (skew.clustered_skew, skew.label_size_imbalance) == (False, False)


def test_power_law_sizes_stay():
    sizes = [len(index) for index in draw("pa")]
    assert max(sizes) > 5 * min(sizes)


def test_shards_use_all_images():
    assert sum(len(index) for index in draw("equal_shards")) == 50_000


@pytest.mark.parametrize("options", [{"scheme": "iid"}, {"scheme": "ce", "images_per_label": 0}])
def test_bad_options_give_one_line(options):
    with pytest.raises(UsageError, match="allowed"):
        draw(**options)


@pytest.mark.parametrize(("scheme", "option"), [("equal_shards", "delta"), ("pa", "images_per_label")])
def test_options_of_another_scheme_are_refused(scheme, option):
    with pytest.raises(UsageError, match=f"{option}=1 given for scheme '{scheme}'; allowed: null"):
        draw(scheme, **{option: 1})
    draw(scheme, **{option: None})
