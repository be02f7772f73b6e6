"""Return type of every loader: images, labels and their origin."""

import hashlib
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Split:
    """Images [n, height, width] (grey) or [n, height, width, 3]; uint8, possibly memory-mapped.

    labels: [n] int64 in 0..num_classes-1. groups: [n] int64, the natural client of each
    image (writer, source), or None where the data set has none.
    """

    images: np.ndarray
    labels: np.ndarray
    groups: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Dataset:
    """A data set with its provenance, which travels into every stored row."""

    name: str
    train: Split
    test: Split
    num_classes: int
    class_names: tuple[str, ...]
    origin: str  # where the images came from, in words
    checksum: str  # sha256 over the arrays, see `array_checksum`
    licence: str
    stand_in: bool = False  # generated images that only look like the real data set
    mean: tuple[float, ...] = (0.5,)  # per channel, of pixels in [0, 1]
    std: tuple[float, ...] = (0.5,)
    group_names: tuple[str, ...] = ()  # names of the natural clients, where they have any

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """(channels, height, width), as the models see it."""
        shape = self.train.images.shape
        return (shape[3] if len(shape) == 4 else 1, shape[1], shape[2])


def array_checksum(*arrays: np.ndarray) -> str:
    """sha256 (hex) over the arrays' dtypes, shapes and bytes, in the order given."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def first_per_class(labels: np.ndarray, count: int) -> np.ndarray:
    """Ascending indices of the first `count` images of every class. labels: [n] integers."""
    chosen = [np.flatnonzero(labels == label)[:count] for label in np.unique(labels)]
    return np.sort(np.concatenate(chosen))
