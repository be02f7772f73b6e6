"""Natural clients (a writer, a source) and several clients per source.

Used by FedDisk: Federated Learning for distribution skewed data using sample weights. H. Nguyen,
P. Wu, J. M. Chang. IEEE TAI, manuscript TAI-2023-May-A-00417, sec. VI.A (FEDDISK-A23, A30).
"""

from typing import Annotated

import numpy as np

from fedlib.errors import UsageError, check
from fedlib.partition.sampling import Partition, UpTo, check_int, finish


def partition_natural(
    labels: np.ndarray,
    *,
    num_clients: int,
    rng: np.random.Generator,
    groups: np.ndarray | None,
    min_images: int = 1,
) -> Partition:
    """Every client is one group (a writer): `num_clients` groups drawn at random, in rising order.

    groups: [n], the group of each image. min_images: smaller groups are left out; FedDisk takes
    100 writers with more than 300 images, that is `min_images=301` of whole writers, and 256 of the 85 %
    that the loader leaves for training (FEDDISK-A30).
    """
    groups = _require_groups("natural", groups, labels)
    least = check_int("natural", "min_images", min_images, 1)
    ids, sizes = np.unique(groups, return_counts=True)
    large = ids[sizes >= least]
    check(
        num_clients <= len(large),
        f"partition 'natural': {num_clients} clients, but {len(large)} of {len(ids)} groups have at least "
        f"{least} images; allowed: at most {len(large)} clients",
    )
    chosen = np.sort(rng.choice(large, size=num_clients, replace=False))
    return finish("natural", [np.flatnonzero(groups == group) for group in chosen])


def partition_sources(
    labels: np.ndarray,
    *,
    num_clients: int,
    rng: np.random.Generator,
    groups: np.ndarray | None,
    spread: Annotated[float, UpTo(1.0)] = 63.74 / 325.50,
) -> Partition:
    """Every client has images of one source only, every source as many clients as its size merits.

    Sizes within a source are proportional to N(1, spread), by default the spread printed for the
    chest X-rays (325.50 +- 63.74), and use the source up (FEDDISK-A23). Clients follow the
    order of the sources.
    """
    groups = _require_groups("sources", groups, labels)
    ids, sizes = np.unique(groups, return_counts=True)
    check(
        num_clients >= len(ids),
        f"partition 'sources': {num_clients} clients for {len(ids)} sources; allowed: at least {len(ids)}",
    )
    clients: list[np.ndarray] = []
    for source, number in zip(ids, _clients_per_source(sizes, num_clients), strict=True):
        weights = np.maximum(0.1, 1 + spread * rng.standard_normal(number))
        pool = rng.permutation(np.flatnonzero(groups == source))
        edges = np.rint(np.cumsum(weights / weights.sum()) * len(pool)).astype(np.int64)
        clients += np.split(pool, edges[:-1])
    return finish("sources", clients)


def _clients_per_source(sizes: np.ndarray, clients: int) -> np.ndarray:
    """At least one client per source, the rest in proportion to size (Webster's method)."""
    numbers = np.ones(len(sizes), dtype=np.int64)
    for _ in range(clients - len(sizes)):
        numbers[np.argmax(sizes / (numbers + 0.5))] += 1
    return numbers


def _require_groups(name: str, groups: np.ndarray | None, labels: np.ndarray) -> np.ndarray:
    if groups is None:
        raise UsageError(
            f"partition {name!r} needs data with groups (writers, sources), and these have none; "
            f"allowed: FEMNIST, chest X-rays, their stand-ins, or another partition"
        )
    check(len(groups) == len(labels), f"partition {name!r}: {len(groups)} groups for {len(labels)} labels")
    return np.asarray(groups)
