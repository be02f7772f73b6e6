"""Label skew by quantity: every client holds images of so many labels.

Federated Learning on Non-IID Data Silos: An Experimental Study (NIID-Bench). Q. Li et al. ICDE 2022.
https://arxiv.org/abs/2102.02079, sec. IV-A: "#C = k". Client i has label i modulo the number of labels and
k - 1 further ones at random; the images of a label are divided evenly among the clients that have it.
"""

import numpy as np

from fedlib.partition.sampling import Partition, apportion, check_int, class_counts, draw_images


def partition_label_quantity(
    labels: np.ndarray,
    *,
    num_classes: int,
    num_clients: int,
    rng: np.random.Generator,
    labels_per_client: int = 2,
) -> Partition:
    """Each client has images of `labels_per_client` labels; images of labels that nobody has are unused."""
    count = check_int("label_quantity", "labels_per_client", labels_per_client, 1, num_classes)
    owns = np.zeros((num_clients, num_classes), dtype=bool)
    for client in range(num_clients):
        first = client % num_classes
        others = rng.permutation(np.delete(np.arange(num_classes), first))[: count - 1]
        owns[client, [first, *others]] = True
    shares = owns / np.maximum(owns.sum(axis=0), 1)
    return draw_images("label_quantity", labels, apportion(shares, class_counts(labels, num_classes)), rng)
