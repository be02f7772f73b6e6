"""Dirichlet label skew, which the four papers lack but most of the field uses.

* `dirichlet`: Bayesian Nonparametric Federated Learning of Neural Networks. M. Yurochkin et al. ICML 2019.
  https://arxiv.org/abs/1905.12022, sec. 4. With `cap`, the rule of NIID-Bench's public code (Li et al., ICDE
  2022, https://arxiv.org/abs/2102.02079; there alpha 0.5, 10 clients, at least 10 images each).
* `dirichlet_balanced`: T.-M. H. Hsu et al., 2019, https://arxiv.org/abs/1909.06335, sec. 2: clients of equal
  size, each with its own label distribution q ~ Dir(alpha p), p being the data's.
"""

from typing import Annotated

import numpy as np

from fedlib.errors import UsageError
from fedlib.partition.sampling import (
    Partition,
    UpTo,
    apportion,
    check_choice,
    check_int,
    class_counts,
    draw_images,
)

_TRIES = 100


def partition_dirichlet(
    labels: np.ndarray,
    *,
    num_classes: int,
    num_clients: int,
    rng: np.random.Generator,
    alpha: Annotated[float, UpTo(1e6, above=True)] = 0.5,
    min_images: int = 1,
    cap: bool = False,
) -> Partition:
    """Divide each label over the clients by Dirichlet(alpha) shares; all images are used.

    Small alpha: few labels per client and unequal sizes. Shares are drawn again, at most 100
    times, until every client has `min_images`. cap: labels are dealt one after the other, and a client
    that holds n / N images gets no more.
    """
    least = check_int("dirichlet", "min_images", min_images, 1)
    check_choice("dirichlet", "cap", cap, (False, True))
    available = class_counts(labels, num_classes)
    for _ in range(_TRIES):
        shares = rng.dirichlet(np.full(num_clients, alpha), size=num_classes).T
        counts = _deal_capped(shares, available) if cap else apportion(shares, available)
        if counts.sum(axis=1).min() >= least:
            return draw_images("dirichlet", labels, counts, rng)
    poorest = int(counts.sum(axis=1).argmin())
    raise UsageError(
        f"partition 'dirichlet' with alpha {alpha:g} leaves client {poorest} of {num_clients} with "
        f"{counts[poorest].sum()} images in the last of {_TRIES} draws; allowed: a larger alpha, fewer "
        f"clients or a smaller min_images (now {least})"
    )


def _deal_capped(shares: np.ndarray, available: np.ndarray) -> np.ndarray:
    """[clients, classes] images, label by label; a client with n / N images or more is left out."""
    counts = np.zeros(shares.shape, dtype=np.int64)
    limit = available.sum() / len(shares)
    for label in np.flatnonzero(available):  # once the images are dealt nobody has room
        open_shares = shares[:, label] * (counts.sum(axis=1) < limit)
        total = open_shares.sum()
        if total == 0:  # shares so small that they are 0: whoever has room gets an equal part
            open_shares = (counts.sum(axis=1) < limit).astype(float)
            total = open_shares.sum()
        counts[:, label] = apportion(open_shares[:, None] / total, available[label : label + 1])[:, 0]
    return counts


def partition_dirichlet_balanced(
    labels: np.ndarray,
    *,
    num_classes: int,
    num_clients: int,
    rng: np.random.Generator,
    alpha: Annotated[float, UpTo(1e6, above=True)] = 0.1,
) -> Partition:
    """Clients of floor(n / N) images; client k's labels follow q_k ~ Dirichlet(alpha p).

    p: the label frequencies of the data. Images are drawn without replacement; once a label is used up,
    a client's rest follows q_k over the labels that are left (equal shares where q_k has nothing left).
    """
    left = class_counts(labels, num_classes)
    size = len(labels) // num_clients
    present = left > 0
    shares = np.zeros((num_clients, num_classes))
    shares[:, present] = rng.dirichlet(alpha * left[present] / left.sum(), size=num_clients)
    counts = np.zeros((num_clients, num_classes), dtype=np.int64)
    for client in rng.permutation(num_clients):
        counts[client] = _take(shares[client], left, size)
        left = left - counts[client]
    return draw_images("dirichlet_balanced", labels, counts, rng)


def _take(share: np.ndarray, left: np.ndarray, size: int) -> np.ndarray:
    """[classes] `size` images by `share` [classes], at most `left` [classes] of each label."""
    taken = np.zeros_like(left)
    while missing := size - int(taken.sum()):
        room = left - taken
        weight = np.where(room > 0, share, 0.0)
        weight = np.where(room > 0, 1.0, 0.0) if weight.sum() == 0 else weight
        wanted = apportion((weight / weight.sum())[:, None], np.array([missing]))[:, 0]
        taken += np.minimum(wanted, room)
    return taken
