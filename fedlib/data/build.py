"""From arrays to a checked `Dataset`: shapes, dtypes and label ranges, told in one line."""

from collections.abc import Sequence

import numpy as np

from fedlib import seeds
from fedlib.data.dataset import Dataset, Split, array_checksum
from fedlib.errors import DataError


def split_arrays(split: Split) -> dict[str, np.ndarray]:
    """The arrays of a split by name; `groups` only where the split has them."""
    arrays = {"images": split.images, "labels": split.labels}
    return arrays if split.groups is None else {**arrays, "groups": split.groups}


def checksum_of(train: Split, test: Split) -> str:
    """sha256 over images, labels and groups (where present) of train, then of test."""
    return array_checksum(*split_arrays(train).values(), *split_arrays(test).values())


def make_dataset(
    name: str,
    train: Split,
    test: Split,
    *,
    class_names: Sequence[str],
    origin: str,
    licence: str,
    stand_in: bool = False,
    mean: tuple[float, ...],
    std: tuple[float, ...],
    group_names: Sequence[str] = (),
) -> Dataset:
    """A Dataset with its checksum; DataError if the arrays are not what `Split` promises."""
    for part, split in (("train", train), ("test", test)):
        check_split(f"{name}, {part}", split, num_classes=len(class_names), num_groups=len(group_names))
    if train.images.shape[1:] != test.images.shape[1:]:
        shapes = f"{train.images.shape[1:]} and {test.images.shape[1:]}"
        raise DataError(f"{name}: training and test images differ in shape: {shapes}")
    return Dataset(
        name=name,
        train=train,
        test=test,
        num_classes=len(class_names),
        class_names=tuple(class_names),
        origin=origin,
        checksum=checksum_of(train, test),
        licence=licence,
        stand_in=stand_in,
        mean=mean,
        std=std,
        group_names=tuple(group_names),
    )


def check_split(where: str, split: Split, *, num_classes: int, num_groups: int = 0) -> None:
    """DataError unless images, labels and groups have the shapes, dtypes and ranges of `Split`."""
    images, labels, groups = split.images, split.labels, split.groups
    if images.dtype != np.uint8:
        raise DataError(f"{where}: images have dtype {images.dtype}; allowed: uint8")
    if images.ndim not in (3, 4) or (images.ndim == 4 and images.shape[3] != 3):
        raise DataError(f"{where}: images have shape {images.shape}; allowed: [n, h, w] or [n, h, w, 3]")
    if labels.shape != images.shape[:1]:
        raise DataError(
            f"{where}: labels have shape {labels.shape}; allowed: {images.shape[:1]}, one per image"
        )
    if len(labels) == 0:
        raise DataError(f"{where}: no images")
    _check_range(where, "labels", labels, num_classes)
    if groups is not None:
        if groups.shape != labels.shape:
            raise DataError(f"{where}: groups have shape {groups.shape}; allowed: {labels.shape}")
        _check_range(where, "groups", groups, num_groups)


def _check_range(where: str, what: str, values: np.ndarray, count: int) -> None:
    if values.dtype != np.int64:
        raise DataError(f"{where}: {what} have dtype {values.dtype}; allowed: int64")
    if values.min() < 0 or values.max() >= count:
        raise DataError(f"{where}: {what} range over {values.min()}..{values.max()}; allowed: 0..{count - 1}")


def hold_out(groups: np.ndarray, fraction: float, *names: int | str) -> np.ndarray:
    """Boolean mask [n] of a test part: about `fraction` of every group, drawn by the stream `names`.

    groups: [n] integers. Groups of a single image keep it for training.
    """
    mask = np.zeros(len(groups), dtype=bool)
    rng = seeds.rng("hold-out", *names)
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    for members in np.split(order, starts[1:]):
        count = min(round(fraction * len(members)), len(members) - 1)
        mask[rng.permutation(members)[:count]] = True
    return mask
