"""Every family of partitions, measured on one data set."""

import numpy as np
import pandas as pd

from fedlib import seeds
from fedlib.data import load_dataset
from fedlib.partition import label_counts, make_partition, skew_properties

# (name, options, title) of one partition per family; 10 clients
FAMILIES = (
    ("iid", {}, "IID"),
    ("dirichlet", {"alpha": 0.3}, "Dirichlet, alpha 0.3"),
    ("equal_shards", {}, "shards, Equal"),
    ("nonequal_shards", {}, "shards, Non-equal"),
    ("pa", {}, "PA (log-normal)"),
    ("ce", {"delta": 0.6}, "CE (cluster, equal)"),
    ("cn", {"delta": 0.6}, "CN (cluster, non-equal)"),
    ("majority", {"sigma": 0.8}, "majority label, sigma 0.8"),
    ("label_volume", {"label_skew": "balanced", "volume_skew": True}, "report: labels and volume"),
)


def family_partitions(labels: np.ndarray, num_classes: int) -> dict[str, list[np.ndarray]]:
    """A partition of each family into 10 clients: title -> index lists."""

    return {
        title: make_partition(
            name, labels=labels, num_classes=num_classes, num_clients=10, rng=seeds.rng(0, name), **options
        )
        for name, options, title in FAMILIES
    }


def measure_families(profile: str) -> pd.DataFrame:
    """Sizes and skew of one partition of each family, one row each."""

    dataset = load_dataset("fmnist-embedded" if profile == "smoke" else "fmnist")
    rows = []
    for title, lists in family_partitions(dataset.train.labels, dataset.num_classes).items():
        counts = label_counts(lists, dataset.train.labels, dataset.num_classes)
        sizes, skew = counts.sum(axis=1), skew_properties(counts)
        rows.append(
            {
                "partition": title, "images_used": int(sizes.sum()), "smallest_client": int(sizes.min()),
                "largest_client": int(sizes.max()),
                "labels_per_client": skew.labels_per_client, "emd": skew.emd,
                "clustered_skew": skew.clustered_skew, "label_size_imbalance": skew.label_size_imbalance,
                "quantity_imbalance": skew.quantity_imbalance,
            }
        )  # fmt: skip
    return pd.DataFrame(rows)
