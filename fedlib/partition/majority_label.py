"""Majority label with a fraction sigma: the label skew of FedDdrl.

FedDdrl: Federated Double Deep Reinforcement Learning for Heterogeneous IoT with Adaptive Early
Client Termination and Local Epoch Adjustment. Y. J. Wong et al. Sensors 2023, 23, 2494, sec. 5
and eq. (22). Ambiguities FEDDDRL-A29 and A42: all clients have the same size, each label is the
majority of N / classes clients, and no image is used twice.

Departure: with labels of unequal frequency (MNIST) clients of the printed size can only be filled
if scarce labels give fewer minority images than others; they are drawn as evenly as possible.
"""

from bisect import bisect_left
from typing import Annotated

import numpy as np

from fedlib.errors import check
from fedlib.partition.sampling import Partition, UpTo, check_int, class_counts, draw_images


def partition_majority(
    labels: np.ndarray,
    *,
    num_classes: int,
    num_clients: int,
    rng: np.random.Generator,
    sigma: Annotated[float, UpTo(1.0)] = 0.8,
    images_per_client: int | None = None,
) -> Partition:
    """A share `sigma` of each client's images has one label, the rest is spread over the others.

    images_per_client: by default the largest possible, at most n // N. CIFAR-10 and 100 clients:
    400 + 100 images each, every image of the data set in use.
    """
    name = "majority"
    check(num_classes > 1, f"partition {name!r} needs labels to choose from; given: {num_classes} class")
    available = class_counts(labels, num_classes)
    major = rng.permutation(rng.permutation(num_classes)[np.arange(num_clients) % num_classes])
    largest = _largest_size(available, np.bincount(major, minlength=num_classes), sigma)
    check(
        largest > 0,
        f"partition {name!r}: the labels of {len(labels)} images do not suffice for {num_clients} clients "
        f"with sigma {sigma:g}; allowed: fewer clients or another sigma",
    )
    size = largest if images_per_client is None else images_per_client
    size = check_int(name, "images_per_client", size, 1, largest)
    counts = np.zeros((num_clients, num_classes), dtype=np.int64)
    counts[np.arange(num_clients), major] = _share(sigma, size)
    minor = _deal_minor(available - counts.sum(axis=0), major, size - _share(sigma, size), rng)
    return draw_images(name, labels, counts + minor, rng)


def _share(sigma: float, size: int) -> int:
    return int(sigma * size + 0.5)


def _largest_size(available: np.ndarray, holders: np.ndarray, sigma: float) -> int:
    """The largest client size for which majority and minority images suffice; 0 if none does."""

    def too_large(size: int) -> bool:
        left = available - holders * _share(sigma, size)
        return bool((left < 0).any()) or not _suffices(left, holders, size - _share(sigma, size))

    return bisect_left(range(1, int(available.sum()) // int(holders.sum()) + 1), True, key=too_large)


def _suffices(pool: np.ndarray, holders: np.ndarray, need: int) -> bool:
    """Can every client get `need` images that are not of its majority label (Hall's condition)?"""
    return bool(pool.sum() >= holders.sum() * need and (holders * need <= pool.sum() - pool).all())


def _deal_minor(pool: np.ndarray, major: np.ndarray, need: int, rng: np.random.Generator) -> np.ndarray:
    """Minority counts [clients, classes]: rows sum to `need`, none of the client's own majority.

    The pools are first levelled to the lowest common height that suffices, then everybody gets as
    many of every minority label as all can have, and the rest is dealt in proportion to what is
    left of each label.
    """
    holders = np.bincount(major, minlength=len(pool))
    heights = range(int(pool.max()) + 1)
    level = bisect_left(heights, True, key=lambda height: _suffices(pool.clip(max=height), holders, need))
    even = _even_part(pool.clip(max=level), holders, need)
    dealt = np.where(np.arange(len(pool)) == major[:, None], 0, even)
    pool, need = pool.clip(max=level) - dealt.sum(axis=0), need - even * (len(pool) - 1)
    for client in rng.permutation(len(major)):
        own = major[client]
        hand = _proportional(np.where(np.arange(len(pool)) == own, 0, pool), need, rng)
        dealt[client] += hand
        pool = pool - hand
        for _ in range(need - int(hand.sum())):  # only the own majority label is left: exchange
            _exchange(dealt, major, client, rng)
            pool[own] -= 1
    return dealt


def _even_part(pool: np.ndarray, holders: np.ndarray, need: int) -> int:
    """The most images of every minority label that all clients can have, with the rest still enough."""
    minor_labels, takers = len(pool) - 1, holders.sum() - holders
    for even in range(need // minor_labels, 0, -1):
        left = pool - even * takers
        if (left >= 0).all() and _suffices(left, holders, need - even * minor_labels):
            return even
    return 0


def _proportional(pool: np.ndarray, need: int, rng: np.random.Generator) -> np.ndarray:
    """`need` images (or all there are) in proportion to the pools; random labels get the odd ones."""
    total = int(pool.sum())
    if total <= need:
        return pool
    exact = need * pool / total
    hand = np.floor(exact).astype(np.int64)
    odd = exact - hand
    chosen = (
        rng.choice(len(pool), size=need - int(hand.sum()), replace=False, p=odd / odd.sum())
        if odd.any()
        else []
    )
    hand[chosen] += 1
    return hand


def _exchange(dealt: np.ndarray, major: np.ndarray, client: int, rng: np.random.Generator) -> None:
    """Another client takes one image of `client`'s majority label and gives one of a third label."""
    own = major[client]
    givers = (dealt > 0) & (major != own)[:, None] & (np.arange(dealt.shape[1]) != own)
    giver, label = rng.choice(np.argwhere(givers))
    dealt[giver, [label, own]] += (-1, 1)
    dealt[client, label] += 1
