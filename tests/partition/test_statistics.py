"""Label counts, summaries and skew measures, by hand."""

import numpy as np
import pytest

from fedlib.errors import UsageError
from fedlib.partition import label_counts, label_emd, skew_properties

LABELS = np.array([0, 0, 1, 2, 2, 2])
PARTITION = [np.array([0, 2]), np.array([1, 3, 4, 5])]


def test_label_counts_by_hand():
    np.testing.assert_array_equal(label_counts(PARTITION, LABELS, 4), [[1, 1, 0, 0], [1, 0, 3, 0]])


def test_emd_is_equation_23_of_fedddrl():
    """sigma = 0.8, 10 labels: |0.8 - 0.1| + 9 * |0.2 / 9 - 0.1| = 0.7 + 0.7."""
    counts = np.array([[720] + [20] * 9, [90] * 10])
    np.testing.assert_allclose(label_emd(counts), [1.4, 0.0], atol=1e-12)


def test_skew_of_even_clients():
    skew = skew_properties(np.full((10, 10), 6))
    assert (skew.clustered_skew, skew.label_size_imbalance, skew.quantity_imbalance) == (False, False, False)
    assert (skew.main_cluster_share, skew.labels_per_client, skew.size_spread, skew.emd) == (0, 10, 0, 0)


def test_skew_numbers_by_hand():
    counts = np.array([[2, 2, 0, 0]] * 4 + [[0, 0, 6, 6]])
    skew = skew_properties(counts)
    assert (skew.clustered_skew, skew.label_size_imbalance, skew.quantity_imbalance) == (True, True, True)
    assert (skew.main_cluster_share, skew.next_cluster_share) == (0.8, 0.2)
    assert skew.size_spread == pytest.approx(3.2 / 5.6)  # sizes 4, 4, 4, 4, 12: mean 5.6, variance 10.24
    assert skew.emd == 1.0


def test_three_clients_that_agree_are_no_cluster():
    counts = np.array([[1, 1, 0, 0]] * 3 + [[0, 1, 1, 0], [0, 0, 1, 1]])
    assert not skew_properties(counts).clustered_skew


def test_skew_of_an_empty_client_is_an_error():
    with pytest.raises(UsageError, match="client 1 has no images"):
        skew_properties(np.array([[1, 1], [0, 0]]))
