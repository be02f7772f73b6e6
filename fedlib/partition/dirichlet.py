"""Dirichlet label skew, which the four papers lack but most of the field uses.

Bayesian Nonparametric Federated Learning of Neural Networks. M. Yurochkin et al. ICML 2019.
https://arxiv.org/abs/1905.12022, sec. 4; the same rule as in NIID-Bench (Li et al., ICDE 2022,
https://arxiv.org/abs/2102.02079).
"""

import numpy as np

from fedlib.errors import UsageError
from fedlib.partition.draw import Partition, apportion, check_int, check_real, class_counts, draw_images

_TRIES = 100


def partition_dirichlet(
    labels: np.ndarray,
    *,
    num_classes: int,
    num_clients: int,
    rng: np.random.Generator,
    alpha: float = 0.5,
    min_images: int = 1,
) -> Partition:
    """Divide each label over the clients by Dirichlet(alpha) shares; all images are used.

    Small alpha: few labels per client and unequal sizes. Shares are drawn again, at most 100
    times, until every client has `min_images`.
    """
    alpha = check_real("dirichlet", "alpha", alpha, 0.0, 1e6, above=True)
    least = check_int("dirichlet", "min_images", min_images, 1)
    available = class_counts(labels, num_classes)
    for _ in range(_TRIES):
        shares = rng.dirichlet(np.full(num_clients, alpha), size=num_classes).T
        counts = apportion(shares, available)
        if counts.sum(axis=1).min() >= least:
            return draw_images("dirichlet", labels, counts, rng)
    poorest = int(counts.sum(axis=1).argmin())
    raise UsageError(
        f"partition 'dirichlet' with alpha {alpha:g} leaves client {poorest} of {num_clients} with "
        f"{counts[poorest].sum()} images in the last of {_TRIES} draws; allowed: a larger alpha, fewer "
        f"clients or a smaller min_images (now {least})"
    )
