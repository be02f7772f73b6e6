"""The runs behind FedDRL's tables and figures: every printed setting at `paper`, sizes elsewhere.

Sec. 4.1 of the paper: SGD with learning rate 0.01, E = 5, B = 10, T = 1000 rounds, K = 10, mu = 0.01
for FedProx, delta = 0.6. Which model and partition a data set has: FEDDRL-A25 to A31, A37, A38.
`SCALES` is the one place where the profiles differ.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from fedlib.experiments.artifact import by_profile
from fedlib.papers.feddrl.repair import REPAIRED
from fedlib.run import Run

DATA = {"CIFAR-100": "cifar100", "Fashion-MNIST": "fmnist", "MNIST": "mnist"}  # the paper's name: ours
PARTITIONS = ("pa", "ce", "cn")
SHARDS = ("equal_shards", "nonequal_shards")
CLIENTS = (10, 100)
COHORT = 10  # K
DELTA = 0.6

# Measured in the authors' files, delta = 0.6: images per label and client in CE, and the relative
# spread of the main group's sizes in CN (CIFAR-100, N = 100: the variant behind table 3).
FILE_SETTINGS = {
    ("mnist", 10): {"images_per_label": 980, "spread": 0.35},
    ("mnist", 100): {"images_per_label": 96, "spread": 0.09},
    ("fmnist", 10): {"images_per_label": 1000, "spread": 0.11},
    ("fmnist", 100): {"images_per_label": 100, "spread": 0.11},
    ("cifar100", 10): {"images_per_label": 80, "spread": 0.36},
    ("cifar100", 100): {"images_per_label": 8, "spread": 0.35},
}

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
PAPERS_CNN = "cnn-feddrl"  # of MNIST and Fashion-MNIST
EXACT_CELL = "table3_fmnist_ce_n100"  # the artifact of `exact_cell`
EXACT_METHODS = {"fedavg": "FedAvg", "fedprox": "FedProx", "feddrl_online": "FedDRL"}  # those printed for it
DRAWN = {"slot_order": "drawn"}  # options of FedDRL: the departure from A5 of `length_runs`
VARIANTS = {**PAPER_METHODS, **CONTROLS}
FEDERATED = tuple(name for name in VARIANTS if name != "singleset")
FEWEST = ("fedavg", "fedprox", "feddrl", "untrained")  # of `VARIANTS`, where hours allow no more
TWO_STAGE = ("feddrl", "shuffled")  # those with worker rounds before round 1


@dataclass(frozen=True)
class Scale:
    """Scale of a profile: sizes, data sets and networks."""

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
    fig8_rounds: int | None = None  # T of fig. 8, with `FEWEST` methods; None: `rounds`, with all
    small_rounds: int | None = None  # T of the small setting; None: `rounds`
    small_train_per_class: int | None = None  # its images of each class; None: as in table 3
    search: Mapping[str, int] = field(default_factory=dict)  # for constant weights; empty: its defaults
    judged: tuple[int, int] | None = None  # where repairs are judged: images per label, test ones per class
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
        judged=(50, 200),
        file_rounds={10: 20},  # all images of the training set in every round
    ),
    "extended": Scale(
        rounds=1000,
        local_epochs=5,
        datasets={"fmnist": "fmnist", "mnist": "mnist"},
        models={"fmnist": _MLP, "mnist": _MLP},
        epochs_singleset=200,
        fig8_rounds=300,
        as_in_files=True,
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
scale_of = by_profile(SCALES)


def base_run(profile: str, artifact: str, data: str, partition: str, num_clients: int) -> Run:
    """FedAvg in one cell of table 3; data: cifar100, fmnist or mnist, whatever stands in for it.

    With full participation (N = 10) every client's loss is in the rows, for fig. 6.
    """
    scale = scale_of(profile)
    model, model_options = scale.models[data]
    return Run(
        paper="feddrl", artifact=artifact, profile=profile, dataset=scale.datasets[data],
        dataset_options=image_options(scale, data, partition, num_clients), method="fedavg",
        partition=partition, partition_options=partition_options(scale, data, partition, num_clients),
        model=model, model_options=model_options, num_clients=num_clients, cohort_size=COHORT,
        rounds=scale.rounds, local_epochs=scale.local_epochs, batch_size=10, local_learning_rate=0.01,
        client_eval="cohort" if num_clients == COHORT else "none",
    )  # fmt: skip


def image_options(scale: Scale, data: str, partition: str, num_clients: int) -> dict[str, int]:
    """Options for the number of images per class, if not all take part."""
    keys = [(data, scheme, num_clients) for scheme in (partition, "any")]
    found = [scale.train_per_class[key] for key in keys if key in scale.train_per_class]
    options = {"train_per_class": found[0]} if found else {}
    if data in scale.test_per_class:
        options["test_per_class"] = scale.test_per_class[data]
    return options


def partition_options(scale: Scale, data: str, partition: str, num_clients: int) -> dict[str, float]:
    """Settings of the authors' partition files (FEDDRL-A25 to A30); only CE and CN have any."""
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
    """Runs of a cell under each of these methods; by default all of `VARIANTS`, at the profile's scale."""
    scale = scale or scale_of(run.profile)
    runs = []
    for method, options in variants(scale, names).values():
        rounds = scale.epochs_singleset if method == "singleset" else None
        runs.append(replace(run, method=method, method_options=options, rounds=rounds or run.rounds))
    return runs


# Cells of table 3 at `extended`, the most valuable first: (data, partition, N)
EXTENDED_CELLS = tuple((data, scheme, 100) for data in ("fmnist", "mnist") for scheme in ("ce", "cn", "pa"))
CLUSTERED = ("ce", "cn")  # partitions with a main group of clients


def table3(profile: str) -> list[Run]:
    """18 cells: 3 data sets, PA, CE and CN, N = 10 and 100; the paper's methods and our controls.

    `extended`: the cells of 100 clients on Fashion-MNIST and MNIST; then the repaired agent in them, and one
    cell of ten clients; the repaired agent without training in the clustered cells of Fashion-MNIST.
    """
    if profile == "extended":
        cells = [base_run(profile, "table3", *cell) for cell in EXTENDED_CELLS]
        ten = base_run(profile, "table3", "fmnist", "ce", 10)
        runs = [run for cell in cells for run in with_methods(cell)]
        runs += with_methods(ten, ("fedavg", "fedprox", "uniform", "feddrl", "untrained"))
        clustered = [cell for cell in cells if cell.dataset == "fmnist" and cell.partition in CLUSTERED]
        runs += [replace(cell, method="feddrl", method_options=dict(REPAIRED)) for cell in (*cells, ten)]
        untrained = {**REPAIRED, "agent": "untrained"}
        return runs + [replace(cell, method="feddrl", method_options=untrained) for cell in clustered]
    return [
        run
        for data in DATA.values()
        for num_clients in CLIENTS
        for partition in PARTITIONS
        for run in with_methods(base_run(profile, "table3", data, partition, num_clients))
    ]


def table3_cells(
    profile: str,
    *,
    data: Iterable[str] = tuple(DATA.values()),
    partitions: tuple[str, ...] = PARTITIONS,
    clients: tuple[int, ...] = CLIENTS,
    singleset: bool = False,
) -> list[Run]:
    """Runs of table 3 in these cells; without SingleSet, what the figures draw."""
    names = {scale_of(profile).datasets[name] for name in data}
    return [
        run
        for run in table3(profile)
        if run.dataset in names
        and run.partition in partitions
        and run.num_clients in clients
        and (singleset or run.method != "singleset")
    ]


def fig7(profile: str) -> list[Run]:
    """K = 10 to 50 of 100 clients on CIFAR-100, CE with delta 0.6 (FEDDRL-A42); K = 10 is table 3's."""
    base = base_run(profile, "fig7", "cifar100", "ce", 100)
    runs = table3_cells(profile, data=("cifar100",), partitions=("ce",), clients=(100,))
    for size in scale_of(profile).cohorts:
        runs += with_methods(replace(base, cohort_size=size), FEDERATED)
    return runs


def fig8(profile: str) -> list[Run]:
    """delta = 0.2 to 0.6 on Fashion-MNIST, N = 100, CE and CN (FEDDRL-A43); 0.6 is table 3's.

    Below 0.6 a client has as many images per label as there are, which is what the authors' files
    have from 0.3 to 0.5.
    """
    scale = scale_of(profile)
    if scale.fig8_rounds is None:
        deltas, names = scale.deltas, FEDERATED
        runs = table3_cells(profile, data=("fmnist",), partitions=CLUSTERED, clients=(100,))
    else:
        deltas, names, runs = (*scale.deltas, DELTA), FEWEST, []  # all of the same length
    rounds = scale.fig8_rounds or scale.rounds
    cells = [over_delta(profile, scheme, delta, rounds) for scheme in CLUSTERED for delta in deltas]
    return runs + [run for cell in cells for run in with_methods(cell, names)]


def over_delta(profile: str, partition: str, delta: float, rounds: int, artifact: str = "fig8") -> Run:
    """FedAvg in a cell of fig. 8."""
    base = base_run(profile, artifact, "fmnist", partition, 100)
    rest = {k: v for k, v in base.partition_options.items() if k != "images_per_label"}
    return replace(base, rounds=rounds, partition_options={**rest, "delta": delta})


def table4(profile: str) -> list[Run]:
    """Shards of sorted images, Equal and Non-equal, on CIFAR-100 (sec. 5.1)."""
    return [
        run
        for num_clients in CLIENTS
        for partition in SHARDS
        for run in with_methods(base_run(profile, "table4", "cifar100", partition, num_clients))
    ]


def upper_bound(profile: str) -> list[Run]:
    """SingleSet against the federated methods in all cells: runs of tables 3 and 4."""
    return [*table3(profile), *table4(profile)]


def fedprox_weights(profile: str) -> list[Run]:
    """FedProx averaged uniformly, as in the authors' runs behind table 3 (FEDDRL-A36), beside n_k.

    The cell whose gap the paper ascribes to FedProx: MNIST, PA, N = 10.
    """
    own = replace(
        base_run(profile, "fedprox_weights", "mnist", "pa", 10),
        method="fedprox",
        method_options={"mu": 0.01, "weights": "uniform"},
    )
    others = table3_cells(profile, data=("mnist",), partitions=("pa",), clients=(10,))
    return [own, *(run for run in others if run.method in ("fedavg", "fedprox"))]


def exact_cell(profile: str) -> list[Run]:
    """The cell of table 3 with the paper's CNN and printed settings, FedDRL online, with its controls.

    FedDRL here is the online mode: stage 1 of the other takes 2 T worker rounds before round 1. Its controls
    are its untrained policy, and clients in drawn order (`length_runs.paper_length`). FedAvg's weights are
    uniform here: all clients have as many images.
    """
    cell = base_run(profile, "table3", "fmnist", "ce", 100)
    drawn = replace(cell, artifact=EXACT_CELL, method="feddrl", method_options={"mode": "online", **DRAWN})
    return [*with_methods(cell, ("fedavg", "fedprox", "feddrl_online", "untrained")), drawn]
