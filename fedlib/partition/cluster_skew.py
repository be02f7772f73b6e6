"""Pareto (PA), Clustered-Equal (CE) and Clustered-Non-equal (CN): the partitions of FedDRL.

FedDRL: Deep Reinforcement Learning-based Adaptive Aggregation for Non-IID Data in Federated
Learning. N. H. Nguyen et al. ICPP 2022. https://doi.org/10.1145/3545008.3545085, sec. 4.1.1.

* Cluster skew: the first `delta * N` clients share one set of labels, the main group.
* All labels of a client have the same number of images, its *unit*: constant in CE, Gaussian
  over the clients in CN, log-normal in PA.
* Only a part of the images is used (FEDDRL-A28), and no image twice (FEDDRL-A32).

The paper leaves most of the rules open; they were read off the authors' partition files
(FEDDRL-A26 to A30). Departures from these:

1. The files round the unit down to a convenient number (`FILE_SETTINGS` of `fedlib.papers.feddrl.runs`);
   the default here is the largest unit that the images allow. Give `images_per_label` for the files' sizes.
2. Labels that no client drew replace labels held more than once, instead of a redraw: the same
   law wherever the first draw already covers all labels, and it always ends.
"""

from typing import Annotated

import numpy as np

from fedlib.errors import UsageError, check
from fedlib.partition.sampling import Partition, UpTo, check_int, check_real, class_counts, draw_images

_USUAL_LABELS = {10: 2, 100: 20}  # labels per client by number of classes, FEDDRL-A26


def partition_ce(
    labels: np.ndarray,
    *,
    num_classes: int,
    num_clients: int,
    rng: np.random.Generator,
    delta: Annotated[float, UpTo(1.0, above=True)] = 0.6,
    labels_per_client: int | None = None,
    images_per_label: int | None = None,
) -> Partition:
    """Clustered-Equal: cluster skew, every client the same size.

    delta: share of the clients in the main group. labels_per_client: L; by default 2 with 10
    classes and 20 with 100. images_per_label: the unit q; by default the largest possible,
    the smallest `available // clients that hold the label` over the labels.
    """
    held = _cluster_labels("ce", num_classes, num_clients, labels_per_client, delta, rng)
    unit = _unit("ce", held, class_counts(labels, num_classes), images_per_label)
    return draw_images("ce", labels, held * unit, rng)


def partition_cn(
    labels: np.ndarray,
    *,
    num_classes: int,
    num_clients: int,
    rng: np.random.Generator,
    delta: Annotated[float, UpTo(1.0, above=True)] = 0.6,
    labels_per_client: int | None = None,
    images_per_label: int | None = None,
    spread: Annotated[float, UpTo(1.0)] = 0.11,
) -> Partition:
    """Clustered-Non-equal: the label sets of CE, units `q * (1 + spread * N(0, 1))`, at least 1.

    spread: relative standard deviation of the clients' sizes, FEDDRL-A29 (`FILE_SETTINGS` holds the values
    measured per data set). Where a label would run out, the units of the clients that
    hold it shrink by a common factor.
    """
    held = _cluster_labels("cn", num_classes, num_clients, labels_per_client, delta, rng)
    available = class_counts(labels, num_classes)
    unit = _unit("cn", held, available, images_per_label)
    wanted = np.rint(unit * (1 + spread * rng.standard_normal(num_clients))).clip(min=1)
    return draw_images("cn", labels, held * _shrink_to_fit(held, wanted, available)[:, None], rng)


def partition_pa(
    labels: np.ndarray,
    *,
    num_classes: int,
    num_clients: int,
    rng: np.random.Generator,
    labels_per_client: int | None = None,
    spread: Annotated[float, UpTo(5.0)] = 1.6,
) -> Partition:
    """Pareto: each client draws L labels at random; units are proportional to LogNormal(0, spread).

    Units are at least 1 and, but for what rounding leaves, as large as the scarcest label allows
    (FEDDRL-A30).
    """
    per_client = _labels_per_client("pa", labels_per_client, num_classes)
    held = _random_label_sets(num_clients, num_classes, per_client, rng)
    available = class_counts(labels, num_classes)
    _unit("pa", held, available, None)  # an error where a label cannot give one image to each holder
    weights = rng.lognormal(0.0, spread, size=num_clients)
    return draw_images("pa", labels, held * _largest_units(held, weights, available)[:, None], rng)


def _labels_per_client(name: str, given: int | None, num_classes: int) -> int:
    if given is not None:
        return check_int(name, "labels_per_client", given, 1, num_classes)
    if num_classes not in _USUAL_LABELS:
        raise UsageError(
            f"partition {name!r}: labels_per_client is not given; allowed: a whole number from 1 to "
            f"{num_classes}, e.g. --set partition.labels_per_client=2 (it has a default only with 10 or 100 "
            "classes)"
        )
    return _USUAL_LABELS[num_classes]


def _cluster_labels(
    name: str,
    num_classes: int,
    num_clients: int,
    labels_per_client: int | None,
    delta: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """Which labels each client holds, [clients, classes] bool (FEDDRL-A27).

    The main group holds the first L labels. The others own disjoint blocks of the remaining
    labels where these suffice, and otherwise draw L of them at random.
    """
    per_client = _labels_per_client(name, labels_per_client, num_classes)
    check_real(name, "delta", delta, 1.0, above=True)
    main = int(delta * num_clients + 0.5)
    check(
        main > 0, f"partition {name!r}: delta {delta} of {num_clients} clients is none; allowed: at least one"
    )
    held = np.zeros((num_clients, num_classes), dtype=bool)
    held[:main, :per_client] = True
    others, outside = num_clients - main, num_classes - per_client
    check(
        others == 0 or outside >= per_client,
        f"partition {name!r}: labels_per_client is {per_client} of {num_classes}; "
        f"allowed: at most {num_classes // 2}, so that labels are left outside the main group",
    )
    if others * per_client <= outside:
        for block, client in enumerate(range(main, num_clients), start=1):
            held[client, block * per_client : (block + 1) * per_client] = True
    else:
        held[main:, per_client:] = _random_label_sets(others, outside, per_client, rng)
    return held


def _random_label_sets(clients: int, labels: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """A random set of `size` labels per client that together cover all, [clients, labels] bool."""
    held = rng.permuted(np.tile(np.arange(labels) < size, (clients, 1)), axis=1)
    for label in np.flatnonzero(~held.any(axis=0)):
        spare = np.argwhere(held & (held.sum(axis=0) > 1))
        if not len(spare):  # fewer places than labels: the rest stay unused
            break
        client, other = spare[rng.integers(len(spare))]
        held[client, [other, label]] = False, True
    return held


def _unit(name: str, held: np.ndarray, available: np.ndarray, given: int | None) -> int:
    """Images per label and client: the largest possible, or the one given if it is possible."""
    holders = held.sum(axis=0)
    used = np.flatnonzero(holders)
    largest = int((available[used] // holders[used]).min())
    scarce = used[np.argmin(available[used] // holders[used])]
    check(
        largest > 0,
        f"partition {name!r}: label {scarce} has {available[scarce]} images for {holders[scarce]} clients; "
        f"allowed: at least one each",
    )
    return largest if given is None else check_int(name, "images_per_label", given, 1, largest)


def _shrink_to_fit(held: np.ndarray, units: np.ndarray, available: np.ndarray) -> np.ndarray:
    """Scale what units have beyond 1 so that no label is exhausted; [clients] int64.

    A client's factor is the smallest of its labels' factors, and a label's factor is what is
    left of it after one image per holder over what its holders want beyond that.
    """
    holders = held.sum(axis=0)
    beyond = (held * (units[:, None] - 1)).sum(axis=0)
    factors = np.minimum(1.0, (available - holders) / np.maximum(beyond, 1))
    client_factors = np.where(held, factors, 1.0).min(axis=1)
    return 1 + np.floor((units - 1) * client_factors + 1e-9).astype(np.int64)


def _largest_units(held: np.ndarray, weights: np.ndarray, available: np.ndarray) -> np.ndarray:
    """max(1, floor(c * weights)) for the largest c at which every label suffices; [clients] int64.

    c is at most what suffices before rounding down: room that rounding leaves, below 0.3 % of the images
    with Fashion-MNIST's labels, stays unused.
    """

    def units(scale: float) -> np.ndarray:
        return np.maximum(1, np.floor(scale * weights)).astype(np.int64)

    demand = held.T @ weights
    low, high = 0.0, float((available[demand > 0] / demand[demand > 0]).min()) * (1 + 1e-9)
    for _ in range(60):  # bisection down to rounding error
        middle = (low + high) / 2
        fits = (held.T @ units(middle) <= available).all()
        low, high = (middle, high) if fits else (low, middle)
    return units(low)
