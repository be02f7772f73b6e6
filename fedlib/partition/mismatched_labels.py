"""Index lists made from labels that are not the images' own: FedDRL's CIFAR cells as they were run.

FEDDRL-A25: the authors' index files were made from CIFAR-100's labels and used with CIFAR-10's
images. The two data sets' orders have nothing to do with each other, so that to CIFAR-10 those
labels are balanced labels in a random order; that is what is drawn here. What is left of the scheme
is the clients' sizes; the mix of their true labels is that of a random sample.
"""

import inspect

import numpy as np

from fedlib.errors import UsageError, check, check_name
from fedlib.partition.cluster_skew import partition_ce, partition_cn, partition_pa
from fedlib.partition.sampling import Partition, check_ranges
from fedlib.partition.shards import partition_equal_shards, partition_nonequal_shards

CLASSES = 100  # of CIFAR-100's labels (FEDDRL-A25)
_CLUSTERS = {"pa": partition_pa, "ce": partition_ce, "cn": partition_cn}
_SHARDS = {"equal_shards": partition_equal_shards, "nonequal_shards": partition_nonequal_shards}


def partition_foreign_labels(
    labels: np.ndarray,
    *,
    num_clients: int,
    rng: np.random.Generator,
    scheme: str = "ce",
    delta: float | None = None,
    spread: float | None = None,
    images_per_label: int | None = None,
) -> Partition:
    """Scheme pa, ce, cn, equal_shards or nonequal_shards over 100 balanced random labels.

    labels: [n], only their number counts. delta, spread, images_per_label: of the scheme; None: its
    own default. UsageError for one that the scheme lacks.
    """
    check_name("scheme of partition 'foreign_labels'", scheme, (*_CLUSTERS, *_SHARDS))
    foreign = rng.permutation(np.arange(len(labels)) % CLASSES)
    given = {"delta": delta, "spread": spread, "images_per_label": images_per_label}
    options = {name: value for name, value in given.items() if value is not None}
    make, classes = {**_CLUSTERS, **_SHARDS}[scheme], {"num_classes": CLASSES} if scheme in _CLUSTERS else {}
    known = inspect.signature(make).parameters
    for name, value in options.items():
        check(
            name in known,
            f"partition 'foreign_labels': {name}={value} given for scheme {scheme!r}; allowed: null, for "
            "this scheme has no such option",
        )
    try:
        check_ranges(scheme, make, options)
        return make(foreign, num_clients=num_clients, rng=rng, **classes, **options)
    except UsageError as error:
        raise UsageError(f"partition 'foreign_labels', {error}") from error
