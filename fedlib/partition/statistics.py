"""Partition statistics: label counts, measures of skew.

Skew types as in table 2 of FedDRL (ICPP 2022, https://doi.org/10.1145/3545008.3545085); distance
of label distributions as in eq. (23) of FedDdrl (Sensors 2023, 23, 2494). The paper of FedDRL
names the types without thresholds; those below separate PA, CE and CN of table 2 and all of the
authors' partition files for delta >= 0.2 (delta >= 0.4 with 10 clients).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedlib.errors import check
from fedlib.partition.sampling import class_counts

CLUSTER_SHARE = 0.2  # least share of the clients in the main group
CLUSTER_CLIENTS = 4  # and least number of them: three of ten agree by chance in 6 % of PA draws
CLUSTER_LEAD = 2.0  # and how many times the next cluster's size it has
LABEL_SHARE = 0.9  # labels are imbalanced if clients hold less than this share of them on average
SIZE_SPREAD = 0.05  # quantities are imbalanced above this relative standard deviation of sizes


@dataclass(frozen=True)
class SkewProperties:
    """Measured skew of one partition: three judgements and the numbers behind them."""

    clustered_skew: bool
    label_size_imbalance: bool
    quantity_imbalance: bool
    main_cluster_share: float  # clients in the largest group with one and the same incomplete label set
    next_cluster_share: float  # clients in the second largest such group
    labels_per_client: float  # mean
    size_spread: float  # standard deviation of client sizes over their mean
    emd: float  # mean over clients of eq. (23) of FedDdrl


def label_counts(partition: Sequence[np.ndarray], labels: np.ndarray, num_classes: int) -> np.ndarray:
    """Images of each label on each client, [clients, classes] int64."""
    return np.stack([class_counts(labels[indices], num_classes) for indices in partition])


def skew_properties(counts: np.ndarray) -> SkewProperties:
    """Which of FedDRL's skew types a partition has; counts: [clients, classes]."""
    sizes = counts.sum(axis=1)
    check(bool((sizes > 0).all()), f"client {int(np.argmin(sizes))} has no images; skew is undefined")
    main, second = _largest_clusters(counts > 0)
    labels_per_client = float((counts > 0).sum(axis=1).mean())
    size_spread = float(sizes.std() / sizes.mean())
    clustered = main >= max(CLUSTER_SHARE * len(counts), CLUSTER_CLIENTS, CLUSTER_LEAD * second)
    return SkewProperties(
        clustered_skew=bool(clustered),
        label_size_imbalance=labels_per_client < LABEL_SHARE * counts.shape[1],
        quantity_imbalance=size_spread > SIZE_SPREAD,
        main_cluster_share=main / len(counts),
        next_cluster_share=second / len(counts),
        labels_per_client=labels_per_client,
        size_spread=size_spread,
        emd=float(label_emd(counts).mean()),
    )


def label_emd(counts: np.ndarray) -> np.ndarray:
    """[clients] label distance `sum_i |p_k(i) - 1 / C|`, eqs. (21) and (23) of FedDdrl, 0 to 2."""
    return np.abs(counts / counts.sum(axis=1, keepdims=True) - 1 / counts.shape[1]).sum(axis=1)


def _largest_clusters(held: np.ndarray) -> tuple[int, int]:
    """Sizes of the two largest groups of clients with one label set that is not the full set."""
    groups = Counter(row.tobytes() for row in held if not row.all())
    sizes = [size for _, size in groups.most_common(2)] + [0, 0]
    return sizes[0], sizes[1]
