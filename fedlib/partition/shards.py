"""IID and the shard partitions of McMahan et al.

Communication-Efficient Learning of Deep Networks from Decentralized Data. H. B. McMahan, E. Moore,
D. Ramage, S. Hampson, B. Agüera y Arcas. AISTATS 2017. https://arxiv.org/abs/1602.05629
Equal and Non-equal as in FedDRL (ICPP 2022), sec. 5.1 and table 4.

All images are used. Where they do not divide evenly, clients (or shards) differ by one image.
"""

import numpy as np

from fedlib.errors import check
from fedlib.partition.sampling import Partition, check_int, finish


def partition_iid(labels: np.ndarray, *, num_clients: int, rng: np.random.Generator) -> Partition:
    """Shuffle all images and deal them out evenly: 60,000 images give 100 clients 600 each."""
    return finish("iid", np.array_split(rng.permutation(len(labels)), num_clients))


def partition_equal_shards(
    labels: np.ndarray, *, num_clients: int, rng: np.random.Generator, shards_per_client: int = 2
) -> Partition:
    """Equal: sort by label, cut into `shards_per_client` x N shards, deal each client that many."""
    per_client = check_int("equal_shards", "shards_per_client", shards_per_client, 1)
    return _deal_shards("equal_shards", labels, np.full(num_clients, per_client), rng)


def partition_nonequal_shards(
    labels: np.ndarray,
    *,
    num_clients: int,
    rng: np.random.Generator,
    mean_shards: int = 10,
    min_shards: int = 6,
    max_shards: int = 14,
) -> Partition:
    """Non-equal: `mean_shards` x N shards; each client gets between `min_shards` and `max_shards`.

    Independent draws need not sum to the number of shards: single shards then move to or from
    random clients, within the bounds, until they do (FEDDRL-A31).
    """
    name = "nonequal_shards"
    low = check_int(name, "min_shards", min_shards, 1)
    mean = check_int(name, "mean_shards", mean_shards, low)
    high = check_int(name, "max_shards", max_shards, mean)
    return _deal_shards(name, labels, _shard_numbers(num_clients, low, mean, high, rng), rng)


def _shard_numbers(clients: int, low: int, mean: int, high: int, rng: np.random.Generator) -> np.ndarray:
    numbers = rng.integers(low, high + 1, size=clients)
    surplus = int(numbers.sum()) - mean * clients
    step, bound = (-1, low) if surplus > 0 else (1, high)
    for _ in range(abs(surplus)):
        numbers[rng.choice(np.flatnonzero(numbers != bound))] += step
    return numbers


def _deal_shards(name: str, labels: np.ndarray, numbers: np.ndarray, rng: np.random.Generator) -> Partition:
    """Give client k `numbers[k]` random shards of the images in the order of their labels."""
    total = int(numbers.sum())
    check(
        total <= len(labels),
        f"partition {name!r} cuts {total} shards for {len(numbers)} clients; allowed: at most {len(labels)}, "
        f"the number of images",
    )
    shards = np.array_split(np.argsort(labels, kind="stable"), total)
    hands = np.split(rng.permutation(total), np.cumsum(numbers)[:-1])
    return finish(name, [np.concatenate([shards[shard] for shard in hand]) for hand in hands])
