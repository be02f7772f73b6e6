"""FedDRL's artifacts without training: settings, partitions measured, label mixes, how far long runs got."""

import numpy as np
import pandas as pd

from fedlib import seeds
from fedlib.analysis.published import load_published, printed_rows
from fedlib.data import Dataset, load_dataset
from fedlib.methods.feddrl.method import FedDRL
from fedlib.papers.feddrl.author_files import at_hand, authors_file
from fedlib.papers.feddrl.runs import CLIENTS, DATA, PARTITIONS, partition_options, scale_of
from fedlib.partition import (
    Partition,
    label_counts,
    label_emd,
    make_partition,
    partition_from_file,
    skew_properties,
)

# table 1's names: the options of our method and networks
_SETTINGS = {
    "pi_network_layers": lambda m: len(m.ddpg(10).policy_network.layers),
    "q_network_layers": lambda m: len(m.ddpg(10).critic_network.layers),
    "hidden_layer_size": lambda m: m.hidden_size, "pi_network_learning_rate": lambda m: m.policy_rate,
    "q_network_learning_rate": lambda m: m.critic_rate, "experience_buffer_size": lambda m: m.capacity,
    "discount_factor_gamma": lambda m: m.discount, "soft_update_factor_rho": lambda m: m.rho,
}  # fmt: skip
_SKEWS = ("clustered_skew", "label_size_imbalance", "quantity_imbalance")


def table1(profile: str) -> pd.DataFrame:
    """Table 1 beside the defaults of our agent."""
    method = FedDRL()
    ours = {name: read(method) for name, read in _SETTINGS.items()}
    rows = load_published("feddrl_table1")
    return pd.DataFrame(
        {"setting": rows.metric, "printed": rows.value, "ours": rows.metric.map(ours), "note": rows.note}
    )


def table2(profile: str) -> pd.DataFrame:
    """The three kinds of skew of table 2, printed and measured on three partitions of each cell."""
    printed = load_published("feddrl_table2").pivot_table(
        index="partition", columns="metric", values="value", aggfunc="first"
    )
    rows = []
    for data in DATA.values():
        dataset = load_dataset(scale_of(profile).datasets[data])
        for partition in PARTITIONS:
            for clients in CLIENTS:
                for seed in range(3):
                    lists = draw(dataset, profile, data, partition, clients, seed)
                    counts = label_counts(lists, dataset.train.labels, dataset.num_classes)
                    skew = skew_properties(counts)
                    row = {**_about(dataset, seed), "partition": partition, "num_clients": clients}
                    for name in _SKEWS:
                        row[name] = getattr(skew, name)
                        row[f"{name}_printed"] = printed.loc[partition.upper(), name] == "yes"
                    row |= {"labels_per_client": skew.labels_per_client, "size_spread": skew.size_spread}
                    sizes = counts.sum(axis=1)
                    row |= {"images": int(sizes.sum()), "smallest": int(sizes.min())}
                    rows.append({**row, "largest": int(sizes.max())})
    return pd.DataFrame(rows)


def draw(dataset: "Dataset", profile: str, data: str, partition: str, clients: int, seed: int) -> "Partition":
    """Draw a partition with the settings of table 3 over all training images."""
    return make_partition(
        partition,
        labels=dataset.train.labels,
        num_classes=dataset.num_classes,
        num_clients=clients,
        rng=seeds.rng(seed, "partition"),
        **partition_options(scale_of(profile), data, partition, clients),
    )


def _about(dataset: "Dataset", seed: int) -> dict[str, object]:
    return {"dataset": dataset.name, "seed": seed, "stand_in": dataset.stand_in}


def fig1(profile: str) -> pd.DataFrame:
    """Describe the paper's private pill images; there is nothing to measure or to draw."""
    rows = printed_rows("feddrl_text", artifact="fig1")
    return rows[["metric", "value", "unit", "note"]].reset_index(drop=True)


def fig4(profile: str) -> pd.DataFrame:
    """Images of each label on each of ten clients under PA, CE and CN, delta 0.6."""
    dataset, rows = load_dataset(scale_of(profile).datasets["fmnist"]), []
    for partition in PARTITIONS:
        lists = draw(dataset, profile, "fmnist", partition, 10, 0)
        counts = label_counts(lists, dataset.train.labels, dataset.num_classes)
        for client, label in zip(*np.nonzero(counts), strict=True):
            cell = {"partition": partition, "client": int(client), "label": int(label)}
            rows.append({**_about(dataset, 0), **cell, "images": int(counts[client, label])})
    return pd.DataFrame(rows)


def label_mix(profile: str) -> pd.DataFrame:
    """FEDDRL-A25: distance of the clients' label mixes from uniform, eq. (23) of FedDdrl, on CIFAR-10.

    Each scheme from 100 labels that are not the images' own, a random deal to clients of the same
    sizes, the scheme from the images' own 10 labels, and the authors' own lists where they are at hand
    (not at `smoke`); N = 10, mean over clients. Their lists number images in the official order, which
    a re-encoded copy need not have: there only the sizes are certain.
    """
    dataset, rows = load_dataset(scale_of(profile).datasets["cifar10"]), []
    labels = dataset.train.labels % 10  # the stand-in of `smoke` has 100 labels; CIFAR-10's are 0 to 9
    for scheme in PARTITIONS:
        options = partition_options(scale_of("paper"), "cifar100", scheme, 10)
        for seed in range(3):
            rng = seeds.rng(seed, "label mix", scheme)
            given = {"labels": labels, "num_clients": 10, "rng": rng}
            foreign = make_partition("foreign_labels", num_classes=100, scheme=scheme, **options, **given)
            sizes = [len(index) for index in foreign]
            dealt = np.split(rng.permutation(len(labels))[: sum(sizes)], np.cumsum(sizes)[:-1])
            own = {k: v for k, v in options.items() if k != "images_per_label"}
            lists = {
                "as run": foreign,
                "random deal": dealt,
                "own labels": make_partition(scheme, num_classes=10, **own, **given),
            }
            for made_from, clients in lists.items():
                rows.append(
                    _about(dataset, seed) | _mix(scheme, made_from, label_counts(clients, labels, 10))
                )
        theirs = authors_file("cifar10", scheme, 10)
        if profile != "smoke" and at_hand(theirs):
            lists = partition_from_file(labels, num_clients=10, **theirs)
            rows.append(_about(dataset, 0) | _mix(scheme, "authors' file", label_counts(lists, labels, 10)))
    return pd.DataFrame(rows)


def _mix(scheme: str, made_from: str, counts: np.ndarray) -> dict[str, object]:
    return {
        "partition": scheme,
        "made_from": made_from,
        "images": int(counts.sum()),
        "label_distance": float(label_emd(counts).mean()),
        "labels_per_client": float((counts > 0).sum(axis=1).mean()),
    }
