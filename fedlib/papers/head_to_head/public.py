"""Runs in the protocols of two public benchmarks, beside whose numbers ours stand.

NIID-Bench (HEAD-A16): 10 clients, all of whom take part, 50 rounds, E = 10, B = 64, SGD with rate 0.01,
momentum 0.9 and weight decay 1e-5, LeNet-5; the best accuracy over the rounds. FedBench (HEAD-A22): the same
with a tenth of every client's images held back, FedYogi and FedAdam among its methods; the last round.
"""

from dataclasses import replace
from typing import Any

from fedlib.errors import check_name
from fedlib.experiments.artifact import PROFILES
from fedlib.papers.head_to_head.runs import PAPER
from fedlib.run import Run

PUBLIC_CELLS: dict[str, tuple[str, dict[str, Any]]] = {
    "iid": ("iid", {}),
    "dirichlet 0.5 cap": ("dirichlet", {"alpha": 0.5, "cap": True, "min_images": 10}),
    "label_quantity 3": ("label_quantity", {"labels_per_client": 3}),
    "label_quantity 2": ("label_quantity", {"labels_per_client": 2}),
}
CELL_WORDS = {
    "iid": "IID", "dirichlet 0.5 cap": "Dirichlet shares (0.5)", "label_quantity 3": "3 labels a client",
    "label_quantity 2": "2 labels a client",
}  # fmt: skip
ROUNDS = 50
TITLES = {"niid_bench": "NIID-Bench", "fedbench": "FedBench", "flgo_bench": "FLGo-Bench"}
MEASURES = {"niid_bench": "best", "fedbench": "last"}  # which round of a run the public number is of
NIID_METHODS = {"fedavg": {}, "fedprox": {"mu": 0.01}, "fednova": {}, "scaffold": {}}
# Flower's defaults, which FedBench leaves as they are; its betas are ours (HEAD-A22)
FEDBENCH_METHODS = {
    "fedyogi": {"learning_rate": 0.01, "tau": 1e-3},
    "fedadam": {"learning_rate": 0.1, "tau": 1e-9, "bias_correction": True},
    "fedavg": {},
    "fednova": {},
}
_NIID_SIZES = {
    "smoke": ("fmnist-embedded", ("dirichlet 0.5 cap",), 2, 1),
    "reduced": ("fmnist", ("dirichlet 0.5 cap",), 5, 10),
    "extended": ("fmnist", ("dirichlet 0.5 cap", "label_quantity 3"), ROUNDS, 10),
    "paper": ("fmnist", tuple(PUBLIC_CELLS), ROUNDS, 10),
}
_FEDBENCH_SIZES = {
    "smoke": (("fmnist-embedded",), ("fedyogi", "fedadam"), 2, 1),
    "extended": (("mnist",), ("fedyogi", "fedadam"), ROUNDS, 10),
    "paper": (("mnist", "fmnist"), tuple(FEDBENCH_METHODS), ROUNDS, 10),
}
_UNIT = {"mean": [0.0], "std": [1.0]}
_SCALES = {"mnist": {"mean": [0.1307], "std": [0.3081]}}  # in FedBench's code; other images stay in [0, 1]


def _run(artifact: str, profile: str, dataset: str, cell: str, **own: Any) -> Run:
    """A run in what both protocols share, on images in [0, 1] unless `own` says otherwise."""
    partition, options = PUBLIC_CELLS[cell]
    shared = Run(
        paper=PAPER, artifact=artifact, profile=profile, dataset=dataset, method="fedavg", rounds=ROUNDS,
        dataset_options=_UNIT, partition=partition, partition_options=options,
        model="lenet5", num_clients=10, batch_size=64, local_learning_rate=0.01,
        local_optimizer_options={"momentum": 0.9, "weight_decay": 1e-5}, client_eval="none",
    )  # fmt: skip
    return replace(shared, **own)


def niid_bench(profile: str) -> list[Run]:
    """NIID-Bench's cells and methods; below `extended` with fewer rounds: then the rows decide nothing.

    Images are scaled to [0, 1] and not standardised, as in its public code.
    """
    dataset, cells, rounds, epochs = _NIID_SIZES[check_name("profile", profile, PROFILES)]
    return [
        _run(
            "benchmark", profile, dataset, cell, method=method, method_options=options, rounds=rounds,
            local_epochs=epochs,
        )
        for cell in cells
        for method, options in NIID_METHODS.items()
    ]  # fmt: skip


def fedbench(profile: str) -> list[Run]:
    """FedBench's Dirichlet cell, on images scaled as in its code; below `extended` it decides nothing."""
    datasets, methods, rounds, epochs = _FEDBENCH_SIZES[check_name("profile", profile, _FEDBENCH_SIZES)]
    return [
        _run(
            "fedbench", profile, dataset, "dirichlet 0.5 cap", method=name,
            method_options=FEDBENCH_METHODS[name], rounds=rounds, local_epochs=epochs,
            dataset_options={**_SCALES.get(dataset, _UNIT), "local_test": 0.1},
        )
        for dataset in datasets
        for name in methods
    ]  # fmt: skip
