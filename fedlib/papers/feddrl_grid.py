"""The runs behind FedDRL's tables and figures: every printed setting at `paper`, sizes elsewhere.

Sec. 4.1 of the paper: SGD with learning rate 0.01, E = 5, B = 10, T = 1000 rounds, K = 10, mu = 0.01
for FedProx, delta = 0.6. Which model and partition a data set has: FEDDRL-A25 to A31, A37, A38.
`SCALES` is the one place where the profiles differ.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from fedlib.errors import check_name
from fedlib.papers import PROFILES
from fedlib.partition.clusters import FILE_SETTINGS
from fedlib.run import Run

DATA = {"CIFAR-100": "cifar100", "Fashion-MNIST": "fmnist", "MNIST": "mnist"}  # the paper's name: ours
PARTITIONS = ("pa", "ce", "cn")
CLIENTS = (10, 100)
COHORT = 10  # K
DELTA = 0.6

# name in our tables: (method, its options); the first four are the paper's rows
PAPER_METHODS = {
    "singleset": ("singleset", {}),
    "fedavg": ("fedavg", {}),
    "fedprox": ("fedprox", {"mu": 0.01}),
    "feddrl": ("feddrl", {}),
}
CONTROLS = {
    "feddrl_online": ("feddrl", {"mode": "online"}),
    "uniform": ("fedavg", {"weights": "uniform"}),
    "untrained": ("feddrl", {"agent": "untrained"}),
    "shuffled": ("feddrl", {"agent": "shuffled"}),
}
VARIANTS = {**PAPER_METHODS, **CONTROLS}


@dataclass(frozen=True)
class Scale:
    """What a profile may change: sizes, and the data sets and networks that go with them."""

    rounds: int  # T
    local_epochs: int  # E
    datasets: Mapping[str, str]
    models: Mapping[str, str]
    # (data set, N) -> images of each class that take part; absent: all
    train_per_class: Mapping[tuple[str, int], int] = field(default_factory=dict)
    as_in_files: bool = False  # images per label of the authors' files, not the most that is possible


SCALES = {
    "smoke": Scale(
        rounds=2,
        local_epochs=1,
        datasets={"cifar100": "standin-cifar100", "fmnist": "fmnist-embedded", "mnist": "mnist-5k"},
        models=dict.fromkeys(DATA.values(), "mlp"),
    ),
    "reduced": Scale(
        rounds=40,
        local_epochs=2,
        datasets={"cifar100": "standin-cifar100", "fmnist": "fmnist", "mnist": "mnist"},
        models={"cifar100": "lenet", "fmnist": "mlp", "mnist": "mlp"},
    ),
    "paper": Scale(
        rounds=1000,
        local_epochs=5,
        datasets={name: name for name in DATA.values()},
        models={"cifar100": "vgg11", "fmnist": "cnn-feddrl", "mnist": "cnn-feddrl"},
        as_in_files=True,
    ),
}


def scale_of(profile: str) -> Scale:
    return SCALES[check_name("profile", profile, PROFILES)]


def base_run(profile: str, artifact: str, data: str, partition: str, num_clients: int) -> Run:
    """FedAvg in one cell of table 3; data: cifar100, fmnist or mnist, whatever stands in for it.

    With full participation (N = 10) every client's loss is in the rows, for fig. 6.
    """
    scale = scale_of(profile)
    per_class = scale.train_per_class.get((data, num_clients))
    return Run(
        paper="feddrl",
        artifact=artifact,
        profile=profile,
        dataset=scale.datasets[data],
        dataset_options={} if per_class is None else {"train_per_class": per_class},
        method="fedavg",
        partition=partition,
        partition_options=partition_options(scale, data, partition, num_clients),
        model=scale.models[data],
        num_clients=num_clients,
        cohort_size=COHORT,
        rounds=scale.rounds,
        local_epochs=scale.local_epochs,
        batch_size=10,
        local_learning_rate=0.01,
        client_eval="cohort" if num_clients == COHORT else "none",
    )


def partition_options(scale: Scale, data: str, partition: str, num_clients: int) -> dict[str, float]:
    """Settings of the authors' partition files (FEDDRL-A25 to A30); PA has none of its own."""
    if partition not in ("ce", "cn"):
        return {}
    measured = FILE_SETTINGS[data, num_clients]
    options = {"delta": DELTA}
    if scale.as_in_files:
        options["images_per_label"] = measured["images_per_label"]
    if partition == "cn":
        options["spread"] = measured["spread"]
    return options


def with_methods(run: Run, variants: Mapping[str, tuple[str, dict]]) -> list[Run]:
    """The same cell under each of these methods."""
    return [replace(run, method=name, method_options=options) for name, options in variants.values()]


def table3(profile: str) -> list[Run]:
    """18 cells: 3 data sets, PA, CE and CN, N = 10 and 100; the paper's methods and our controls."""
    return [
        run
        for data in DATA.values()
        for num_clients in CLIENTS
        for partition in PARTITIONS
        for run in with_methods(base_run(profile, "table3", data, partition, num_clients), VARIANTS)
    ]


def full_scale_cell(profile: str) -> list[Run]:
    """The cell of table 3 that a CPU can approach at full scale: Fashion-MNIST, CE, N = 100.

    FedDRL here is the online mode: stage 1 of the other takes 2 T worker rounds before round 1.
    """
    cell = base_run(profile, "table3", "fmnist", "ce", 100)
    return with_methods(cell, {name: VARIANTS[name] for name in ("fedavg", "fedprox", "feddrl_online")})
