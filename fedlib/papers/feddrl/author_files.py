"""FedDRL's runs as its authors made them: on their own partition files, and their CIFAR cells.

Their repository has index lists into the official training order of MNIST, Fashion-MNIST and
CIFAR-10; they belong into `feddrl_partitions/` below the data folder. They name images of the full
training sets, so there is nothing to run at `smoke`.
"""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from fedlib.papers.feddrl.repair import REPAIRED
from fedlib.papers.feddrl.runs import (
    CLIENTS,
    CLUSTERED,
    DELTA,
    DRAWN,
    FEDERATED,
    PARTITIONS,
    SHARDS,
    Scale,
    base_run,
    partition_options,
    scale_of,
    with_methods,
)
from fedlib.paths import data_folder
from fedlib.run import Run

FILES = "feddrl_partitions/{data}_{partition}_n{clients}{delta}.json"  # below the data folder
_FILE_NAMES = {"fmnist": "fashion_mnist", "mnist": "mnist", "cifar10": "cifar"}


def authors_file(data: str, partition: str, clients: int, delta: float = DELTA) -> dict[str, Any]:
    """Options of partition `from_file` for the authors' index lists; their PA repeats images (FEDDRL-A32)."""
    suffix = "" if delta == DELTA else f"_delta{round(100 * delta)}"
    path = FILES.format(data=_FILE_NAMES[data], partition=partition, clients=clients, delta=suffix)
    return {"path": path, **({"allow_repeats": True} if partition == "pa" else {})}


def at_hand(options: Mapping[str, Any]) -> bool:
    """Whether the file that these options of `from_file` name is in the data folder."""
    return (data_folder() / options["path"]).is_file()


def authors_partitions(profile: str) -> list[Run]:
    """The cells of table 3 on the authors' own files instead of our draws.

    MNIST and Fashion-MNIST; CIFAR-10's images with CIFAR-100's index lists and 100 outputs, as the
    authors ran them (FEDDRL-A25).
    """
    cells = itertools.product(_FILE_NAMES, CLIENTS, PARTITIONS)
    if profile == "extended":  # two cells: there the partition is what differs from table 3
        cells = [("fmnist", 100, scheme) for scheme in CLUSTERED]
    return [run for cell in cells for run in _on_authors_file(profile, "authors_partitions", *cell)]


def at_length(profile: str, partition: str) -> list[Run]:
    """Runs of a cell of `authors_partitions` at length, the repaired agent and FedDRL in drawn order.

    As in `length_runs.paper_length`. In CE all clients hold as many images: uniform weights are FedAvg's.
    """
    names = [name for name in FEDERATED if (name, partition) != ("uniform", "ce")]
    runs = _on_authors_file(profile, "authors_partitions", "fmnist", 100, partition, names=names)
    own = [replace(run, artifact=f"authors_{partition}_at_length", method="feddrl") for run in runs[:1]]
    return runs + [replace(run, method_options=dict(options)) for run in own for options in (REPAIRED, DRAWN)]


def authors_deltas(profile: str) -> list[Run]:
    """Fig. 8 on the authors' own files; delta 0.6 is `authors_partitions`'."""
    runs = []
    for partition in ("ce", "cn"):
        runs += _on_authors_file(profile, "authors_partitions", "fmnist", 100, partition)
        for delta in scale_of(profile).deltas:
            runs += _on_authors_file(profile, "authors_deltas", "fmnist", 100, partition, delta)
    return runs


def _on_authors_file(
    profile: str, artifact: str, data: str, clients: int, partition: str, delta: float = DELTA,
    names: Iterable[str] = FEDERATED,
) -> list[Run]:  # fmt: skip
    if profile == "smoke":
        return []
    scale = scale_of(profile)
    base = base_run(profile, artifact, data, "from_file", clients)
    images = {k: v for k, v in base.dataset_options.items() if k != "train_per_class"}
    if data == "cifar10":
        images["num_classes"] = 100
    base = replace(
        base, dataset_options=images, partition_options=authors_file(data, partition, clients, delta),
        rounds=scale.file_rounds.get(clients, scale.rounds),
    )  # fmt: skip
    return with_methods(base, names, _shortened(scale, base.rounds))


def _shortened(scale: Scale, rounds: int) -> Scale:
    """Stage 1 of FedDRL as long, in proportion, as in runs of the usual length."""
    if scale.worker_rounds is None:
        return scale
    return replace(scale, worker_rounds=scale.worker_rounds * rounds // scale.rounds)


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
