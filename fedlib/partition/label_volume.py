"""The label and volume generator of the FRL report.

Federated Reinforcement Learning. B. Bourbon, T. Nagellen. Orange, report, 26 February 2023,
sec. V and figs. 9 to 13. Four kinds of data on the workers (FRL-A22 to A24):

| figure | label_skew | volume_skew |
|---|---|---|
| 10 | none: all labels on all workers | False: equal division of each label |
| 11 | none | True: shares of 0.5 to 1.5 times the mean |
| 12 | balanced: three different labels each, every label on equally many workers | False |
| 13 | unbalanced: nine labels on one worker each, the tenth on all other places | False |

The two skews combine freely; the experiments with EvaluatorFL use balanced labels with skewed
volume. Shares are drawn apart from images, so that the same ones divide training and test data
(FRL-A23): `partition_by_shares(test.labels, shares, rng)`.
"""

import numpy as np

from fedlib.errors import check
from fedlib.partition.sampling import (
    Partition,
    apportion,
    check_choice,
    check_int,
    class_counts,
    draw_images,
    finish,
)

LABEL_SKEWS = ("none", "balanced", "unbalanced")


def partition_label_volume(
    labels: np.ndarray,
    *,
    num_classes: int,
    num_clients: int,
    rng: np.random.Generator,
    label_skew: str = "none",
    volume_skew: bool = False,
    labels_per_client: int = 3,
) -> Partition:
    """Draw shares and divide all images by them; see `volume_shares` for the options."""
    shares = volume_shares(
        num_classes,
        num_clients,
        rng,
        label_skew=label_skew,
        volume_skew=volume_skew,
        labels_per_client=labels_per_client,
    )
    return partition_by_shares(labels, shares, rng, name="label_volume")


def volume_shares(
    num_classes: int,
    num_clients: int,
    rng: np.random.Generator,
    *,
    label_skew: str = "none",
    volume_skew: bool = False,
    labels_per_client: int = 3,
) -> np.ndarray:
    """Each worker's share of each label, [clients, classes]; columns of labels in use sum to 1.

    With `volume_skew` the n places of a label get `(1 + e_i - mean(e)) / n`, e_i uniform in
    [0, 1]. The labels of a worker are different ones (FRL-A22).
    """
    check_choice("label_volume", "label_skew", label_skew, LABEL_SKEWS)
    check_choice("label_volume", "volume_skew", volume_skew, (False, True))
    size = check_int("label_volume", "labels_per_client", labels_per_client, 1, num_classes)
    if label_skew == "none":
        places = np.ones((num_clients, num_classes), dtype=np.int64)
    elif label_skew == "balanced":
        places = _balanced_places(num_clients, num_classes, size, rng)
    else:
        places = _unbalanced_places(num_clients, num_classes, size, rng)
    return _shares_of_places(places, volume_skew, rng)


def partition_by_shares(
    labels: np.ndarray, shares: np.ndarray, rng: np.random.Generator, *, name: str = "shares"
) -> Partition:
    """Give client k the share `shares[k, c]` of the images of label c; [clients, classes]."""
    return draw_images(name, labels, apportion(shares, class_counts(labels, shares.shape[1])), rng)


def partition_like(
    partition: Partition,
    labels: np.ndarray,
    other_labels: np.ndarray,
    num_classes: int,
    rng: np.random.Generator,
) -> Partition:
    """Divide other data (a test set) by the shares that each client has of each label here.

    partition: indices into `labels`. Returns indices into `other_labels`.
    """
    held = np.stack([class_counts(labels[indices], num_classes) for indices in finish("like", partition)])
    shares = held / np.maximum(class_counts(labels, num_classes), 1)
    return partition_by_shares(other_labels, shares, rng, name="like")


def _balanced_places(clients: int, classes: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """`size` places per client, equally many per label (or one more), [clients, classes].

    Different labels per client: labels dealt in a repeated order differ within a client, and
    random trades between pairs of clients, which keep both margins, then mix them ("curveball",
    Strona et al. 2014, https://doi.org/10.1038/ncomms5114).
    """
    deck = rng.permutation(classes)[np.arange(clients * size) % classes]
    places = np.zeros((clients, classes), dtype=np.int64)
    places[np.repeat(np.arange(clients), size), deck] = 1
    for _ in range(10 * clients if clients > 1 else 0):
        pair = rng.choice(clients, size=2, replace=False)
        only_one = np.flatnonzero(places[pair].sum(axis=0) == 1)
        kept = places[pair[0], only_one].sum()
        given = rng.permutation(np.arange(len(only_one)) < kept)
        places[pair[0], only_one], places[pair[1], only_one] = given, ~given
    return places


def _unbalanced_places(clients: int, classes: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Each place takes a random label among those left; all but one label have a single place.

    Only three labels of ten are defined (FRL-A24). On average 3.94 workers have single labels; the later
    ones hold the common label alone.
    """
    check(
        (size, classes) == (3, 10),
        f"partition 'label_volume': unbalanced labels are defined for 3 labels per client of 10; "
        f"given: {size} of {classes}; allowed: label_skew 'balanced'",
    )
    common = rng.integers(classes)
    left = np.ones(classes, dtype=bool)
    places = np.zeros((clients, classes), dtype=np.int64)
    for place in range(clients * size):
        client = place // size
        allowed = np.flatnonzero(left & (places[client] == 0))
        if not len(allowed):
            continue
        label = rng.choice(allowed)
        places[client, label] = 1
        left[label] = label == common
    return places


def _shares_of_places(places: np.ndarray, skewed: bool, rng: np.random.Generator) -> np.ndarray:
    """Divide every label over its places, evenly or with the report's uniform noise."""
    shares = np.zeros(places.shape)
    for label, column in enumerate(places.T):
        holders = np.flatnonzero(column)
        noise = rng.random(len(holders)) if skewed else np.zeros(len(holders))
        if len(holders):
            shares[holders, label] = (1 + noise - noise.mean()) / len(holders)
    return shares
