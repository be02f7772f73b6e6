"""Data of a task: classes, subsets, the server's part and the clients' parts, by a run's options.

All of it is numpy on the processor, before anything reaches a device; `task.prepare` calls it in this order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fedlib import seeds
from fedlib.data.dataset import Dataset, Split
from fedlib.errors import UsageError, check
from fedlib.partition import Partition, add_client_noise, make_partition, split_within_clients
from fedlib.run import Run

TASK_OPTIONS: dict[str, Any] = {  # data-set options beside the loader's; their types
    **dict.fromkeys(("train_per_class", "test_per_class", "num_classes"), int | None),
    **dict.fromkeys(("local_test", "server_share"), float | None),
    "mean": Sequence[float],
    "std": Sequence[float],
    "client_noise": Mapping | None,
}
_ROUNDING = 1e-9  # 30 * 0.1 is 3


def with_classes(dataset: Dataset, classes: int | None) -> Dataset:
    """More outputs than the data set has classes, as in FedDRL's CIFAR runs (FEDDRL-A25)."""
    if classes is None:
        return dataset
    least = dataset.num_classes
    check(classes >= least, f"num_classes={classes} given; allowed: {least} or more, as {dataset.name} has")
    return replace(dataset, num_classes=classes)


def scale_of(dataset: Dataset, own: Mapping[str, Any]) -> dict[str, Sequence[float]]:
    """`mean` and `std` by channel: the options of these names, else the data set's.

    UsageError for another number of values than 1 or that of the channels.
    """
    channels = dataset.image_shape[0]
    scale = {"mean": own.get("mean", dataset.mean), "std": own.get("std", dataset.std)}
    for option, given in scale.items():
        check(
            len(given) in (1, channels),
            f"{option}={list(given)} given; allowed: one number, or one for each of the {channels} channels "
            f"of {dataset.name}",
        )
    return scale


def first_of_class(split: Split, per_class: int | None, option: str = "per_class") -> Split:
    """The first `per_class` samples of each class, in the original order: a profile's smaller size.

    option: its name in the UsageError of a number below 1 or above the largest class.
    """
    if per_class is None:
        return split
    most = int(np.bincount(split.labels).max())
    check(
        1 <= per_class <= most, f"{option}={per_class} given; allowed: 1 to {most}, as the largest class has"
    )
    return _where(split, _rank_in_class(split) < per_class)


def server_part(split: Split, share: float | None) -> tuple[Split, Split | None]:
    """(test, server): `share` of each class goes to the server, evenly spaced over the original order.

    The same images for every seed and method, so that all of a comparison are tested on the same rest.
    """
    if share is None:
        return split, None
    check(0 < share < 1, f"server_share={share} given; allowed: between 0 and 1 (share of the test data)")
    rank = _rank_in_class(split)
    takes = np.floor((rank + 1) * share + _ROUNDING) > np.floor(rank * share + _ROUNDING)
    check(
        bool(takes.any()),
        f"server_share={share} given; no class has the {1 / share:.0f} test samples for one",
    )
    return _where(split, ~takes), _where(split, takes)


def _rank_in_class(split: Split) -> np.ndarray:
    """[n] how many samples of the same class come before."""
    rank = np.zeros(len(split), dtype=np.int64)
    for label in np.unique(split.labels):
        at = np.flatnonzero(split.labels == label)
        rank[at] = np.arange(len(at))
    return rank


def _where(split: Split, keep: np.ndarray) -> Split:
    groups = None if split.groups is None else split.groups[keep]
    return Split(split.images[keep], split.labels[keep], groups)


def draw_partition(run: Run, train: Split, num_classes: int) -> list[np.ndarray]:
    lists = make_partition(
        run.partition, labels=train.labels, num_classes=num_classes, num_clients=run.num_clients,
        rng=seeds.rng(run.seed, "partition"), groups=train.groups, **run.partition_options,
    )  # fmt: skip
    if len(lists) != run.num_clients:
        raise UsageError(
            f"partition {run.partition!r} made {len(lists)} clients; num_clients={run.num_clients} given"
        )
    return lists


def add_noise(
    runs: Sequence[Run], images: np.ndarray, clients: list[list[np.ndarray]], noise: dict[str, Any] | None
) -> tuple[np.ndarray, list[list[np.ndarray]]]:
    """With client noise (FEDDISK-A19) every replica has images of its own, one block after the other."""
    if noise is None:
        return images, clients
    blocks, moved = [], []
    for replica, run in enumerate(runs):
        rng = seeds.rng(run.seed, "noise")
        blocks.append(add_client_noise(images, clients[replica], rng=rng, **noise))
        moved.append([index + replica * len(images) for index in clients[replica]])
    return np.concatenate(blocks), moved


def split_off_tests(
    runs: Sequence[Run], clients: list[Partition], share: float | None
) -> tuple[list[Partition], list[Partition] | None]:
    """Set a random `share` of every client's samples aside as its own test part (FEDDISK-A22: 0.15)."""
    if share is None:
        return clients, None
    check(0 < share < 1, f"local_test={share} given; allowed: between 0 and 1 (share of a client's samples)")
    split = [
        split_within_clients(lists, 1 - share, seeds.rng(run.seed, "local_test"))
        for run, lists in zip(runs, clients, strict=True)
    ]
    return [train for train, _ in split], [test for _, test in split]
