"""Shared by all partitions: drawing disjoint images by a count matrix, checking a user's input.

Most partitions are two steps: decide how many images of each label every client gets, a matrix
[clients, classes], and draw that many at random. The second step is `draw_images`.
"""

import numbers
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedlib.errors import UsageError, check

Partition = list[np.ndarray]  # one int64 array of image indices per client, in rising order


def class_counts(labels: np.ndarray, num_classes: int) -> np.ndarray:
    """Images available of each label, [classes] int64."""
    return np.bincount(labels, minlength=num_classes).astype(np.int64)


def draw_images(name: str, labels: np.ndarray, counts: np.ndarray, rng: np.random.Generator) -> Partition:
    """Draw `counts[k, c]` images of label c for client k, no image twice.

    labels: [n]. counts: [clients, classes] whole numbers. `name` is the partition's, for errors.
    """
    needed, available = counts.sum(axis=0), class_counts(labels, counts.shape[1])
    short = np.flatnonzero(needed > available)
    if len(short):
        label = short[0]
        raise UsageError(
            f"partition {name!r} needs {needed[label]} images of label {label}; "
            f"the data have {available[label]}"
        )
    drawn: list[list[np.ndarray]] = [[] for _ in counts]
    for label in range(counts.shape[1]):
        pool = rng.permutation(np.flatnonzero(labels == label))
        for client, chunk in enumerate(np.split(pool, np.cumsum(counts[:, label]))[:-1]):
            drawn[client].append(chunk)
    return finish(name, [np.concatenate(chunks) for chunks in drawn])


def finish(name: str, partition: Sequence[np.ndarray]) -> Partition:
    """Sorted int64 copies, or a UsageError that names the first client with nothing, or with no indices."""
    lists = [np.asarray(indices) for indices in partition]
    for client, indices in enumerate(lists):
        check(
            indices.size > 0,
            f"partition {name!r} leaves client {client} of {len(partition)} without images; "
            f"allowed: fewer clients, more images or a milder skew",
        )
        check(
            indices.ndim == 1 and np.issubdtype(indices.dtype, np.integer),
            f"partition {name!r} gives client {client} {indices.dtype} {indices.shape}; "
            "allowed: whole numbers [n] (indices, not masks)",
        )
    return [np.sort(indices.astype(np.int64)) for indices in lists]


def apportion(shares: np.ndarray, available: np.ndarray) -> np.ndarray:
    """Whole numbers closest to `shares * available` whose running sums are exact.

    shares: [clients, classes], every column sums to at most 1. available: [classes].
    Returns [clients, classes] int64. A column that sums to 1 uses every image of its label.
    """
    edges = np.rint(np.cumsum(shares, axis=0) * available).astype(np.int64)
    return np.diff(edges, axis=0, prepend=0)


def check_int(name: str, option: str, value: object, low: int, high: int | None = None) -> int:
    """`value` as an int from `low` to `high`, or a UsageError that says what is allowed."""
    span = f"from {low} to {high}" if high is not None else f"from {low} up"
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    inside = whole and value >= low and (high is None or value <= high)
    check(inside, f"partition {name!r}: {option} is {value!r}; allowed: a whole number {span}")
    return int(value)


def check_real(name: str, option: str, value: object, high: float, *, above: bool = False) -> float:
    """`value` as a float in [0, high], or in (0, high] with `above`; else a UsageError."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    inside = real and (value > 0 if above else value >= 0) and value <= high
    bracket = "(" if above else "["
    check(inside, f"partition {name!r}: {option} is {value!r}; allowed: a number in {bracket}0, {high:g}]")
    return float(value)


@dataclass(frozen=True)
class UpTo:
    """Annotation of an option with its range, whatever the data are: [0, high], or (0, high] with `above`."""

    high: float
    above: bool = False


def check_ranges(name: str, make: Callable[..., Partition], options: Mapping[str, object]) -> None:
    """UsageError for an option of the partition outside of its `UpTo`."""
    hints = typing.get_type_hints(make, include_extras=True)
    for option, value in options.items():
        for span in getattr(hints.get(option), "__metadata__", ()):
            check_real(name, option, value, span.high, above=span.above)


def check_choice(name: str, option: str, value: object, allowed: Sequence[object]) -> None:
    """A UsageError unless `value` is one of `allowed`."""
    check(
        any(value is item or (type(value) is type(item) and value == item) for item in allowed),
        f"partition {name!r}: {option} is {value!r}; allowed: {', '.join(map(repr, allowed))}",
    )
