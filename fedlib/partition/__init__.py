"""Partitions: which client holds which images.

Every partition is a pure function of labels, parameters and a random generator. It returns one
int64 index array per client, sorted, disjoint and never empty (a UsageError names the client that
would be). `make_partition` builds one by name and checks the options' names and values. A function of your
own goes by `package.module:function`, or in a session by a name that you put into `PARTITIONS`.

| name | rule | used by |
|---|---|---|
| iid | random equal parts | all |
| equal_shards, nonequal_shards | shards of sorted images, McMahan et al. 2017 | FedDRL table 4 |
| pa, ce, cn | Pareto, clustered-equal, clustered-non-equal | FedDRL |
| majority | a share sigma of one label | FedDdrl |
| label_volume | labels and volumes of the report's generator | FRL report |
| natural, sources | a client is a writer; several clients per source | FedDisk |
| dirichlet, dirichlet_balanced | Dirichlet label shares (NIID-Bench: `cap`); equal sizes | head to head |
| label_quantity | so many labels a client, NIID-Bench | head to head |
| foreign_labels | a scheme over labels that are not the images' own | FedDRL's CIFAR cells as run |
| from_file | JSON `{client: [index, ...]}` | the FedDRL authors' own partitions |
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fedlib.errors import UsageError, check, check_name
from fedlib.partition.cluster_skew import partition_ce, partition_cn, partition_pa
from fedlib.partition.dirichlet import partition_dirichlet, partition_dirichlet_balanced
from fedlib.partition.from_file import partition_file, partition_from_file
from fedlib.partition.label_quantity import partition_label_quantity
from fedlib.partition.label_volume import (
    partition_by_shares,
    partition_label_volume,
    partition_like,
    volume_shares,
)
from fedlib.partition.majority_label import partition_majority
from fedlib.partition.mismatched_labels import partition_foreign_labels
from fedlib.partition.natural import partition_natural, partition_sources
from fedlib.partition.noise import add_client_noise, split_within_clients
from fedlib.partition.sampling import Partition, check_int, check_ranges, finish
from fedlib.partition.shards import partition_equal_shards, partition_iid, partition_nonequal_shards
from fedlib.partition.statistics import SkewProperties, label_counts, label_emd, skew_properties
from fedlib.registry import Registry, check_takes, find_named
from fedlib.validation import typed_options

PARTITIONS: Registry[Callable[..., Partition]] = Registry("partition", {
    "iid": partition_iid,
    "equal_shards": partition_equal_shards,
    "nonequal_shards": partition_nonequal_shards,
    "pa": partition_pa,
    "ce": partition_ce,
    "cn": partition_cn,
    "majority": partition_majority,
    "label_volume": partition_label_volume,
    "natural": partition_natural,
    "sources": partition_sources,
    "dirichlet": partition_dirichlet,
    "dirichlet_balanced": partition_dirichlet_balanced,
    "label_quantity": partition_label_quantity,
    "foreign_labels": partition_foreign_labels,
    "from_file": partition_from_file,
})  # fmt: skip
_GIVEN = ("labels", "num_classes", "num_clients", "rng", "groups")  # all other parameters are options


def partition_function(name: str) -> Callable[..., Partition]:
    """The function of a partition's name, or at `package.module:function`; UsageError for an unknown one."""
    found = find_named("partition", name, PARTITIONS, "fedlib.partition.PARTITIONS")
    allowed = "(labels, *, num_classes, num_clients, rng, option=default)"
    check_takes(f"partition {name!r}", found, "labels", allowed=allowed, options=True)
    return found


def partition_options(name: str) -> dict[str, object]:
    """The options of a partition with their defaults (`inspect.Parameter.empty` where required)."""
    parameters = inspect.signature(partition_function(name)).parameters
    return {key: parameter.default for key, parameter in parameters.items() if key not in _GIVEN}


def check_options(name: str, options: Mapping[str, object]) -> None:
    """A UsageError unless `options` are options of the partition and the required ones are there."""
    allowed = partition_options(name)
    for option in options:
        check_name(f"option of partition {name!r}", option, allowed or ["none"])
    for option, default in allowed.items():
        required = default is inspect.Parameter.empty
        check(not required or option in options, f"partition {name!r} needs the option {option!r}")


def check_partition(name: str, options: Mapping[str, object]) -> dict[str, Any]:
    """The options, numbers as annotated; UsageError for a name, an option or a value that is not allowed."""
    check_options(name, options)
    function = partition_function(name)
    typed = typed_options(f"partition {name!r}", options, function, partition_options(name))
    check_ranges(name, function, options)
    return typed


def make_partition(
    name: str,
    *,
    labels: np.ndarray,
    num_classes: int,
    num_clients: int,
    rng: np.random.Generator,
    groups: np.ndarray | None = None,
    **options: object,
) -> Partition:
    """Build the partition `name`; see its function in `PARTITIONS` for the options.

    labels: [n] integers in 0..num_classes-1. groups: [n], the natural client of each image, which
    only `natural` and `sources` use. Raises UsageError for a wrong name, option or value, and for
    data that cannot be divided as asked.
    """
    check_options(name, options)
    function = partition_function(name)
    check_ranges(name, function, options)
    labels = np.asarray(labels)
    check(
        labels.ndim == 1 and np.issubdtype(labels.dtype, np.integer) and len(labels) > 0,
        f"partition {name!r}: labels are {labels.dtype} {labels.shape}; allowed: a list of whole numbers",
    )
    if labels.min() < 0 or labels.max() >= num_classes:
        raise UsageError(
            f"partition {name!r}: labels from {labels.min()} to {labels.max()}; "
            f"allowed: 0 to {num_classes - 1}"
        )
    check_int(name, "num_clients", num_clients, 1, len(labels))
    given = dict(num_classes=num_classes, num_clients=num_clients, rng=rng, groups=groups)
    accepted = inspect.signature(function).parameters
    lists = function(labels, **{key: given[key] for key in given if key in accepted}, **options)
    return _checked(name, lists, len(labels)) if ":" in name else lists


def _checked(name: str, lists: Partition, images: int) -> Partition:
    """Sorted index lists of a function of the user's; UsageError unless they are ones of `images`."""
    check(
        isinstance(lists, Sequence),
        f"partition {name!r} returned {type(lists).__name__}; allowed: a list of indices for each client",
    )
    made = finish(name, lists)
    joined = np.concatenate(made) if made else np.zeros(0, np.int64)
    check(len(joined) > 0, f"partition {name!r} made no clients; allowed: a list of indices for each")
    low, high = joined.min(), joined.max()
    check(
        low >= 0 and high < images,
        f"partition {name!r} made indices from {low} to {high}; allowed: 0 to {images - 1}",
    )
    check(len(np.unique(joined)) == len(joined), f"partition {name!r} gave an image out twice; allowed: once")
    return made
