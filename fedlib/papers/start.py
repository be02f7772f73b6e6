"""Notebook 00: what the suite does, on one data set, before any paper.

| artifact | what it shows |
|---|---|
| `start/partitions` | every family of partitions, measured: client sizes, labels per client, skew |
| `start/curves` | SingleSet, FedAvg and FedProx under cluster skew (CE, delta 0.6): accuracy per round |
| `start/sanity` | FedAvg on IID Fashion-MNIST: does the engine train as well as it should? |

The baselines carry no claim of a paper; the claims here are ours, about the floor that the
papers' results stand on.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from fedlib.errors import check_name
from fedlib.intervals import Interval, mean_interval
from fedlib.papers import NOT_TESTABLE, PROFILES, Artifact, Claim, Verdict, decide
from fedlib.run import Run

CURVE_METHODS = {"singleset": {}, "fedavg": {}, "fedprox": {"mu": 0.01}}

# (name, options, title) of one partition per family; 10 clients
FAMILIES = (
    ("iid", {}, "IID"),
    ("dirichlet", {"alpha": 0.3}, "Dirichlet, alpha 0.3"),
    ("equal_shards", {}, "shards, Equal"),
    ("nonequal_shards", {}, "shards, Non-equal"),
    ("pa", {}, "PA (power law)"),
    ("ce", {"delta": 0.6}, "CE (cluster, equal)"),
    ("cn", {"delta": 0.6}, "CN (cluster, non-equal)"),
    ("majority", {"sigma": 0.8}, "majority label, sigma 0.8"),
    ("label_volume", {"label_skew": "balanced", "volume_skew": True}, "report: labels and volume"),
)


def _base(profile: str) -> Run:
    """FedDRL's small setting: 10 clients, all taking part, E = 5, B = 10, lr 0.01 (its sec. 4.1)."""
    run = Run(
        paper="start",
        artifact="curves",
        profile=profile,
        dataset="fmnist-embedded",
        method="fedavg",
        partition="ce",
        partition_options={"delta": 0.6},
        model="lenet",
        num_clients=10,
        rounds=10,
        local_epochs=2,
        batch_size=10,
        local_learning_rate=0.05,
        client_eval="all",
    )
    sizes = {
        "smoke": {},
        "reduced": {"dataset": "fmnist", "rounds": 30, "dataset_options": {"train_per_class": 2000}},
        "paper": {
            "dataset": "fmnist",
            "rounds": 1000,
            "local_epochs": 5,
            "local_learning_rate": 0.01,
            "model": "cnn-feddrl",
        },
    }
    return replace(run, **sizes[check_name("profile", profile, PROFILES)])


def curve_runs(profile: str) -> list[Run]:
    """SingleSet, FedAvg and FedProx on the same clients, cohorts and initial weights."""
    base = _base(profile)
    return [replace(base, method=name, method_options=options) for name, options in CURVE_METHODS.items()]


def sanity_runs(profile: str) -> list[Run]:
    """FedAvg, IID, N = 10, LeNet-size CNN, E = 1, B = 32, lr 0.05, 20 rounds; full data above smoke."""
    check_name("profile", profile, PROFILES)
    run = replace(
        _base("smoke"),
        artifact="sanity",
        profile=profile,
        dataset="fmnist-embedded" if profile == "smoke" else "fmnist",
        partition="iid",
        partition_options={},
        rounds=20,
        local_epochs=1,
        batch_size=32,
        local_learning_rate=0.05,
        client_eval="none",
    )
    return [run]


def family_partitions(labels: np.ndarray, num_classes: int, seed: int = 0) -> dict[str, list[np.ndarray]]:
    """One partition of each family into 10 clients: title -> index lists."""
    from fedlib import seeds
    from fedlib.partition import make_partition

    return {
        title: make_partition(
            name, labels=labels, num_classes=num_classes, num_clients=10, rng=seeds.rng(seed, name), **options
        )
        for name, options, title in FAMILIES
    }


def measure_families(profile: str) -> pd.DataFrame:
    """Sizes and skew of one partition of each family, one row each."""
    from fedlib.data import load_dataset
    from fedlib.partition import label_counts, skew_properties

    dataset = load_dataset("fmnist-embedded" if profile == "smoke" else "fmnist")
    rows = []
    for title, lists in family_partitions(dataset.train.labels, dataset.num_classes).items():
        counts = label_counts(lists, dataset.train.labels, dataset.num_classes)
        sizes, skew = counts.sum(axis=1), skew_properties(counts)
        rows.append(
            {
                "partition": title,
                "images_used": int(sizes.sum()),
                "smallest_client": int(sizes.min()),
                "largest_client": int(sizes.max()),
                "labels_per_client": float((counts > 0).sum(axis=1).mean()),
                "clustered_skew": skew.clustered_skew,
                "label_size_imbalance": skew.label_size_imbalance,
                "quantity_imbalance": skew.quantity_imbalance,
            }
        )
    return pd.DataFrame(rows)


def _decide_sanity(rows: pd.DataFrame) -> Verdict:
    accuracy = mean_interval(decide.final(rows[rows.method == "fedavg"]).to_numpy())
    band = f"95 % [{accuracy.low:.2f}, {accuracy.high:.2f}], {accuracy.n} seeds"
    evidence = f"{accuracy.mean:.2f} % after round {int(rows['round'].max())}, {band}"
    if set(rows.dataset) != {"fmnist"}:
        return Verdict(NOT_TESTABLE, evidence + "; the claim is about all of Fashion-MNIST")
    return Verdict("supported" if accuracy.mean >= 85 else "not supported", evidence)


def _difference(rows: pd.DataFrame, method: str, other: str) -> tuple[Interval, str]:
    """Difference in final accuracy over seeds, and the line that tells it."""
    interval = decide.paired(*(decide.final(rows[rows.method == name]) for name in (method, other)))
    names = {"singleset": "SingleSet", "fedavg": "FedAvg", "fedprox": "FedProx"}
    return interval, f"{names[method]} - {names[other]} = {decide.words(interval)}"


def _decide_skew(rows: pd.DataFrame) -> Verdict:
    return decide.by_sign(*_difference(rows, "singleset", "fedavg"))


def _decide_prox(rows: pd.DataFrame) -> Verdict:
    interval, evidence = _difference(rows, "fedprox", "fedavg")
    if interval.n < 2:
        return Verdict(NOT_TESTABLE, evidence)
    inside, outside = interval.low > -1 and interval.high < 1, interval.low > 1 or interval.high < -1
    return Verdict("supported" if inside else "not supported" if outside else "mixed", evidence)


ARTIFACTS = (
    Artifact(
        id="start/partitions",
        kind="table",
        title="Every family of partitions, measured",
        compute=measure_families,
        datasets={"smoke": ("fmnist-embedded",), "reduced": ("fmnist",), "paper": ("fmnist",)},
    ),
    Artifact(
        id="start/curves",
        kind="figure",
        title="SingleSet, FedAvg and FedProx under cluster skew: accuracy per round",
        runs=curve_runs,
        seeds={"smoke": 3, "reduced": 3, "paper": 5},
    ),
    Artifact(
        id="start/sanity",
        kind="check",
        title="FedAvg on IID Fashion-MNIST, 20 rounds",
        runs=sanity_runs,
        seeds={"smoke": 1, "reduced": 3, "paper": 5},
    ),
)

CLAIMS = (
    Claim(
        "START-C1",
        "FedAvg with a LeNet-size CNN reaches 85 % on IID Fashion-MNIST in 20 rounds",
        "start/sanity",
        _decide_sanity,
    ),
    Claim(
        "START-C2",
        "cluster skew costs FedAvg accuracy against training on the union of the data",
        "start/curves",
        _decide_skew,
    ),
    Claim(
        "START-C3",
        "FedProx with mu = 0.01 stays within one point of FedAvg",
        "start/curves",
        _decide_prox,
    ),
)
