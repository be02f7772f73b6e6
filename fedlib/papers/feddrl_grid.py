"""The runs behind FedDRL's tables and figures: every printed setting at `paper`, sizes elsewhere.

Sec. 4.1 of the paper: SGD with learning rate 0.01, E = 5, B = 10, T = 1000 rounds, K = 10, mu = 0.01
for FedProx, delta = 0.6. Which model and partition a data set has: FEDDRL-A25 to A31, A37, A38.
`SCALES` is the one place where the profiles differ.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from fedlib.errors import check_name
from fedlib.papers import PROFILES
from fedlib.run import Run

DATA = {"CIFAR-100": "cifar100", "Fashion-MNIST": "fmnist", "MNIST": "mnist"}  # the paper's name: ours
PARTITIONS = ("pa", "ce", "cn")
SHARDS = ("equal_shards", "nonequal_shards")
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
FEDERATED = tuple(name for name in VARIANTS if name != "singleset")
TWO_STAGE = ("feddrl", "shuffled")  # those with worker rounds before round 1


@dataclass(frozen=True)
class Scale:
    """What a profile may change: sizes, and the data sets and networks that go with them."""

    rounds: int  # T
    local_epochs: int  # E
    datasets: Mapping[str, str]
    models: Mapping[str, tuple[str, dict]]
    # Images of each class in (data set, partition or "any", N); absent: all of them
    train_per_class: Mapping[tuple[str, str, int], int] = field(default_factory=dict)
    test_per_class: Mapping[str, int] = field(default_factory=dict)
    as_in_files: bool = False  # images per label of the authors' files, not the most that is possible
    epochs_singleset: int | None = None  # rounds of SingleSet; None: T
    worker_rounds: int | None = None  # of stage 1 of FedDRL; None: T
    cohorts: tuple[int, ...] = (20, 30, 40, 50)  # K of fig. 7 beside 10
    deltas: tuple[float, ...] = (0.2, 0.3, 0.4, 0.5)  # of fig. 8 beside 0.6
    small_rounds: int | None = None  # T of the small setting; None: `rounds`
    small_train_per_class: int | None = None  # its images of each class; None: as in table 3
    search: Mapping[str, int] = field(default_factory=dict)  # sizes of the search for constant weights
    file_rounds: Mapping[int, int] = field(default_factory=dict)  # N: T on the authors' files; absent: T


_MLP = ("mlp", {})
SCALES = {
    "smoke": Scale(
        rounds=2,
        local_epochs=1,
        datasets={"cifar100": "standin-cifar100", "cifar10": "standin-cifar100", "fmnist": "fmnist-embedded",
                  "mnist": "mnist-5k"},
        models={"cifar100": ("mlp", {"hidden": 16}), "cifar10": ("mlp", {"hidden": 16}), "fmnist": _MLP,
                "mnist": _MLP},
        train_per_class={
            ("cifar100", "any", 10): 12, ("cifar100", "any", 100): 70, ("fmnist", "any", 10): 60,
            ("mnist", "any", 10): 60, ("fmnist", "any", 100): 120, ("mnist", "any", 100): 120,
            ("cifar10", "any", 10): 10,
        },
        test_per_class={"cifar100": 2, "cifar10": 2, "fmnist": 20, "mnist": 20},
        cohorts=(20,),
        deltas=(0.3,),
        small_train_per_class=24,
        search={"candidates": 2, "generations": 1, "elite": 2},
    ),
    "reduced": Scale(
        rounds=40,
        local_epochs=1,
        datasets={"cifar100": "standin-cifar100", "cifar10": "cifar10-jpeg", "fmnist": "fmnist",
                  "mnist": "mnist"},
        models={"cifar100": ("mlp", {"hidden": 32}), "cifar10": ("mlp", {"hidden": 32}), "fmnist": _MLP,
                "mnist": _MLP},
        train_per_class={
            ("cifar100", "any", 10): 60, ("fmnist", "any", 10): 600, ("mnist", "any", 10): 500,
            ("fmnist", "pa", 100): 3000, ("mnist", "pa", 100): 3000,
            ("cifar100", "equal_shards", 10): 20, ("cifar100", "nonequal_shards", 10): 20,
            ("cifar100", "equal_shards", 100): 200, ("cifar100", "nonequal_shards", 100): 200,
            ("cifar10", "any", 10): 600, ("cifar10", "any", 100): 3000,
        },
        test_per_class={"cifar100": 20, "cifar10": 200, "fmnist": 500, "mnist": 500},
        epochs_singleset=15,
        worker_rounds=20,
        cohorts=(30, 50),
        deltas=(0.2, 0.4),
        small_rounds=100,
        small_train_per_class=300,
        search={"candidates": 8, "generations": 4},
        file_rounds={10: 20},  # all images of the training set in every round
    ),
    "paper": Scale(
        rounds=1000,
        local_epochs=5,
        datasets={name: name for name in (*DATA.values(), "cifar10")},
        models={"cifar100": ("vgg11", {}), "cifar10": ("vgg11", {}), "fmnist": ("cnn-feddrl", {}),
                "mnist": ("cnn-feddrl", {})},
        as_in_files=True,
    ),
}  # fmt: skip


def scale_of(profile: str) -> Scale:
    return SCALES[check_name("profile", profile, PROFILES)]


def base_run(profile: str, artifact: str, data: str, partition: str, num_clients: int) -> Run:
    """FedAvg in one cell of table 3; data: cifar100, fmnist or mnist, whatever stands in for it.

    With full participation (N = 10) every client's loss is in the rows, for fig. 6.
    """
    scale = scale_of(profile)
    model, model_options = scale.models[data]
    return Run(
        paper="feddrl",
        artifact=artifact,
        profile=profile,
        dataset=scale.datasets[data],
        dataset_options=image_options(scale, data, partition, num_clients),
        method="fedavg",
        partition=partition,
        partition_options=partition_options(scale, data, partition, num_clients),
        model=model,
        model_options=model_options,
        num_clients=num_clients,
        cohort_size=COHORT,
        rounds=scale.rounds,
        local_epochs=scale.local_epochs,
        batch_size=10,
        local_learning_rate=0.01,
        client_eval="cohort" if num_clients == COHORT else "none",
    )


def image_options(scale: Scale, data: str, partition: str, num_clients: int) -> dict[str, int]:
    """How many images of each class take part, where that is not all of them."""
    keys = [(data, scheme, num_clients) for scheme in (partition, "any")]
    found = [scale.train_per_class[key] for key in keys if key in scale.train_per_class]
    options = {"train_per_class": found[0]} if found else {}
    if data in scale.test_per_class:
        options["test_per_class"] = scale.test_per_class[data]
    return options


def partition_options(scale: Scale, data: str, partition: str, num_clients: int) -> dict[str, float]:
    """Settings of the authors' partition files (FEDDRL-A25 to A30); only CE and CN have any."""
    from fedlib.partition import FILE_SETTINGS

    if partition not in ("ce", "cn"):
        return {}
    measured = FILE_SETTINGS[data, num_clients]
    options = {"delta": DELTA}
    if scale.as_in_files:
        options["images_per_label"] = measured["images_per_label"]
    if partition == "cn":
        options["spread"] = measured["spread"]
    return options


def variants(scale: Scale, names: Iterable[str] = ()) -> dict[str, tuple[str, dict]]:
    """Name in our tables -> (method, options) at a scale; all, or those named."""
    chosen = {name: VARIANTS[name] for name in names} if names else VARIANTS
    if scale.worker_rounds is None:
        return dict(chosen)
    shorter = {"worker_rounds": scale.worker_rounds}
    return {
        name: (method, {**options, **shorter} if name in TWO_STAGE else options)
        for name, (method, options) in chosen.items()
    }


def with_methods(run: Run, names: Iterable[str] = (), scale: Scale | None = None) -> list[Run]:
    """The same cell under each of these methods; all of `VARIANTS`, at the profile's scale, by default."""
    scale = scale or scale_of(run.profile)
    runs = []
    for method, options in variants(scale, names).values():
        rounds = scale.epochs_singleset if method == "singleset" else None
        runs.append(replace(run, method=method, method_options=options, rounds=rounds or run.rounds))
    return runs


def table3(profile: str) -> list[Run]:
    """18 cells: 3 data sets, PA, CE and CN, N = 10 and 100; the paper's methods and our controls."""
    return [
        run
        for data in DATA.values()
        for num_clients in CLIENTS
        for partition in PARTITIONS
        for run in with_methods(base_run(profile, "table3", data, partition, num_clients))
    ]


def lent(
    profile: str, *, data: Iterable[str], partitions: Iterable[str], clients: Iterable[int]
) -> list[Run]:
    """Runs of table 3 in these cells without SingleSet: what the figures draw."""
    names = {scale_of(profile).datasets[name] for name in data}
    partitions, clients = set(partitions), set(clients)
    return [
        run
        for run in table3(profile)
        if run.dataset in names
        and run.partition in partitions
        and run.num_clients in clients
        and run.method != "singleset"
    ]


def fig5(profile: str) -> list[Run]:
    """Accuracy per round on CIFAR-100 and Fashion-MNIST: runs of table 3."""
    return lent(profile, data=("cifar100", "fmnist"), partitions=PARTITIONS, clients=CLIENTS)


def fig6(profile: str) -> list[Run]:
    """Losses over the clients on CIFAR-100, N = K = 10: runs of table 3."""
    return lent(profile, data=("cifar100",), partitions=PARTITIONS, clients=(10,))


def fig7(profile: str) -> list[Run]:
    """K = 10 to 50 of 100 clients on CIFAR-100, CE with delta 0.6 (FEDDRL-A42); K = 10 is table 3's."""
    base = base_run(profile, "fig7", "cifar100", "ce", 100)
    runs = lent(profile, data=("cifar100",), partitions=("ce",), clients=(100,))
    for size in scale_of(profile).cohorts:
        runs += with_methods(replace(base, cohort_size=size), FEDERATED)
    return runs


def fig8(profile: str) -> list[Run]:
    """delta = 0.2 to 0.6 on Fashion-MNIST, N = 100, CE and CN (FEDDRL-A43); 0.6 is table 3's.

    Below 0.6 a client has as many images per label as there are, which is what the authors' files
    have from 0.3 to 0.5.
    """
    runs = lent(profile, data=("fmnist",), partitions=("ce", "cn"), clients=(100,))
    for partition in ("ce", "cn"):
        base = base_run(profile, "fig8", "fmnist", partition, 100)
        rest = {k: v for k, v in base.partition_options.items() if k != "images_per_label"}
        for delta in scale_of(profile).deltas:
            runs += with_methods(replace(base, partition_options={**rest, "delta": delta}), FEDERATED)
    return runs


def fig10(profile: str) -> list[Run]:
    """Rounds to a target accuracy in all cells: runs of table 3."""
    return lent(profile, data=DATA.values(), partitions=PARTITIONS, clients=CLIENTS)


def table4(profile: str) -> list[Run]:
    """Shards of sorted images, Equal and Non-equal, on CIFAR-100 (sec. 5.1)."""
    return [
        run
        for num_clients in CLIENTS
        for partition in SHARDS
        for run in with_methods(base_run(profile, "table4", "cifar100", partition, num_clients))
    ]


def cifar10_as_run(profile: str) -> list[Run]:
    """The CIFAR cells of tables 3 and 4 as the authors' logs say they were run (FEDDRL-A25).

    CIFAR-10's images and 10 labels, 100 outputs, index lists made from 100 labels that are not theirs.
    """
    cells = [(scheme, n) for n in CLIENTS for scheme in (*PARTITIONS, *SHARDS)]
    return [
        run
        for scheme, num_clients in (cells[:3] if profile == "smoke" else cells)
        for run in with_methods(_as_run(profile, scheme, num_clients))
    ]


def _as_run(profile: str, scheme: str, num_clients: int) -> Run:
    base = base_run(profile, "cifar10_as_run", "cifar10", "foreign_labels", num_clients)
    options = partition_options(scale_of(profile), "cifar100", scheme, num_clients)
    return replace(
        base,
        dataset_options={**base.dataset_options, "num_classes": 100},
        partition_options={"scheme": scheme, **options},
    )


def upper_bound(profile: str) -> list[Run]:
    """SingleSet against the federated methods in all cells: runs of tables 3 and 4."""
    return [*table3(profile), *table4(profile)]


def impact_factors(profile: str) -> list[Run]:
    """Who gets which weight under cluster skew, N = K = 10 (sec. 4.2.2): runs of table 3."""
    return lent(profile, data=DATA.values(), partitions=("ce", "cn"), clients=(10,))


def fedprox_weights(profile: str) -> list[Run]:
    """FedProx averaged uniformly, as in the authors' runs behind table 3 (FEDDRL-A36), beside n_k.

    The cell whose gap the paper ascribes to FedProx: MNIST, PA, N = 10.
    """
    own = replace(
        base_run(profile, "fedprox_weights", "mnist", "pa", 10),
        method="fedprox",
        method_options={"mu": 0.01, "weights": "uniform"},
    )
    borrowed = lent(profile, data=("mnist",), partitions=("pa",), clients=(10,))
    return [own, *(run for run in borrowed if run.method in ("fedavg", "fedprox"))]


def small_setting(profile: str) -> list[Run]:
    """Fashion-MNIST, CE, N = K = 10, with the best constant weights as an upper reference.

    Few images per client and more rounds than elsewhere: an agent gets one experience a round, and
    here it gets enough of them to learn something at `reduced`.
    """
    scale = scale_of(profile)
    base = base_run(profile, "small_setting", "fmnist", "ce", 10)
    if scale.small_train_per_class is not None:
        options = {**base.dataset_options, "train_per_class": scale.small_train_per_class}
        base = replace(base, dataset_options=options)
    base = replace(base, rounds=scale.small_rounds or scale.rounds)
    names = [name for name in FEDERATED if name != "fedprox"]
    full_length = replace(scale, worker_rounds=None)  # stage 1 takes T rounds here at every profile
    runs = with_methods(base, names, full_length)
    known = {run.key for run in table3(profile)}  # at `paper` this is a cell of table 3
    lent_runs = [replace(run, artifact="table3") for run in runs]
    runs = [there if there.key in known else run for run, there in zip(runs, lent_runs, strict=True)]
    return [*runs, replace(base, method="best_constant", method_options=dict(scale.search))]


def full_scale_cell(profile: str) -> list[Run]:
    """The cell of table 3 that a CPU can approach at full scale: Fashion-MNIST, CE, N = 100.

    FedDRL here is the online mode: stage 1 of the other takes 2 T worker rounds before round 1.
    """
    cell = base_run(profile, "table3", "fmnist", "ce", 100)
    return with_methods(cell, ("fedavg", "fedprox", "feddrl_online"))
