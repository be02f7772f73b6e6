"""Any data set as one `.npz` file in MedMNIST's layout, in the data folder, by the file's name.

`train_images`, `test_images` uint8 [n, h, w], [n, h, w, 1] or [n, h, w, 3]; `train_labels`,
`test_labels` integers [n] or [n, 1]; `val_images`, `val_labels` may be there and are not used:
the federated protocols split their own validation data off the training data. Underscores and
hyphens in names are equal: `cifar10_jpeg.npz` is the data set `cifar10-jpeg`.

Yang et al.: MedMNIST v2, Scientific Data, 2023, https://doi.org/10.1038/s41597-022-01721-8.
"""

import math
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from fedlib.data.build import make_dataset
from fedlib.data.class_names import (
    CENTRED_COLOUR,
    CENTRED_GREY,
    CIFAR10_CLASSES,
    DIGITS,
    FMNIST_CLASSES,
    GREY_DIGITS,
)
from fedlib.data.dataset import Dataset, Split
from fedlib.errors import DataError, shortened
from fedlib.paths import data_folder

MOST_CLASSES = 10_000
_KEYS = ("train_images", "train_labels", "test_images", "test_labels")
_CLASSES = {
    "mnist": DIGITS,
    "fmnist": FMNIST_CLASSES,
    "cifar10": CIFAR10_CLASSES,
    "cifar10-jpeg": CIFAR10_CLASSES,
    "pneumoniamnist-subset": ("normal", "pneumonia"),
}
# public data sets whole: training and test images, and the shape of one
_WHOLE = {
    "mnist": (60_000, 10_000, (28, 28)),
    "fmnist": (60_000, 10_000, (28, 28)),
    "cifar10": (50_000, 10_000, (32, 32, 3)),
    "cifar10-jpeg": (50_000, 10_000, (32, 32, 3)),
}
_ORIGINS = {
    "cifar10-jpeg": "CIFAR-10 re-encoded as JPEG (lossy)",
    "pneumoniamnist-subset": "unverified derivative of PneumoniaMNIST (UCSD, Kermany et al.)",
}


def canonical(name: str) -> str:
    """The data set name of a file stem or of what a user typed."""
    return name.lower().replace("_", "-")


def find_npz() -> dict[str, Path]:
    """Data set name -> file, for every `.npz` in the data folder."""
    return {canonical(path.stem): path for path in sorted(data_folder().glob("*.npz"))}


def build_npz(name: str, path: Path) -> Dataset:
    """Read and check one file; DataError names the file and what is wrong with it.

    Warns of classes without an image where the labels alone say how many there are.
    """
    arrays = _read(path)
    splits = [_split(path, part, arrays) for part in ("train", "test")]
    _check_whole(name, path, *splits)
    largest = max(int(split.labels.max(initial=0)) for split in splits)
    if largest >= MOST_CLASSES:
        raise DataError(f"{path}: labels up to {largest}; allowed: 0..{MOST_CLASSES - 1}")
    colour = splits[0].images.ndim == 4
    scale = GREY_DIGITS if name in ("mnist", "fmnist") else CENTRED_COLOUR if colour else CENTRED_GREY
    try:
        dataset = make_dataset(
            name,
            *splits,
            class_names=_CLASSES.get(name) or _numbered(splits[0].labels),
            origin=f"{_ORIGINS.get(name, name)}, from the file {path.name}",
            licence="as its source says",
            **scale,
        )
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    if name not in _CLASSES:
        _warn_of_empty_classes(path, dataset)
    return dataset


def _check_whole(name: str, path: Path, train: Split, test: Split) -> None:
    """DataError if the file has a public data set's name and other images: rows know them by that name."""
    found = (len(train.images), len(test.images), train.images.shape[1:])
    if found != _WHOLE.get(name, found):
        words = "{:,} training and {:,} test images of the shape {}".format
        raise DataError(
            f"{path}: {words(*found)}; the data set {name} has {words(*_WHOLE[name])}; give a file of other "
            "images another name"
        )


def _warn_of_empty_classes(path: Path, dataset: Dataset) -> None:
    found = np.concatenate([dataset.train.labels, dataset.test.labels])
    empty = np.setdiff1d(np.arange(dataset.num_classes), found)
    if len(empty):
        labels, last = shortened(", ".join(map(str, empty))), dataset.num_classes - 1
        warnings.warn(
            f"{path}: no image has label {labels}, which counts as a class of 0..{last} nevertheless; number "
            "the labels from 0 on without gaps",
            stacklevel=2,
        )


def check_npz(path: Path) -> None:
    """DataError if the file is no archive of the four arrays, by its directory and headers alone."""
    with _opened(path):
        pass


def _read(path: Path) -> dict[str, np.ndarray]:
    with _opened(path) as stored:
        return {key: stored[key] for key in _KEYS}


@contextmanager
def _opened(path: Path) -> Iterator[np.lib.npyio.NpzFile]:
    try:
        # opened here, since np.load leaves its own file open when the archive is damaged
        with open(path, "rb") as file:
            if not zipfile.is_zipfile(file):  # which np.load would take for a pickle
                raise zipfile.BadZipFile("no zip archive")
            file.seek(0)
            with np.load(file, allow_pickle=False) as stored:
                if missing := [key for key in _KEYS if key not in stored.files]:
                    found = ", ".join(stored.files)
                    raise DataError(
                        f"{path}: no array {missing[0]!r}; found: {found}; needed: {', '.join(_KEYS)}"
                    )
                for key in _KEYS:
                    _check_length(path, stored.zip, f"{key}.npy")
                yield stored
    # RuntimeError: an encrypted archive, or a compression that zipfile does not know
    except (OSError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(f"{path} is damaged or no .npz file ({error}); put an intact copy there") from error


def _check_length(path: Path, archive: zipfile.ZipFile, member: str) -> None:
    """DataError unless an array has as many bytes as its header says: NumPy reserves memory for it first."""
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        read = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = read(file)
        if dtype.hasobject:
            raise DataError(f"{path}: {member.removesuffix('.npy')} have dtype {dtype}; allowed: integers")
        said, held = math.prod(shape) * dtype.itemsize, archive.getinfo(member).file_size - file.tell()
    if said != held:
        raise DataError(f"{path}: the header of {member} says {said} bytes, the array has {held}")


def _split(path: Path, part: str, arrays: dict[str, np.ndarray]) -> Split:
    images, labels = arrays[f"{part}_images"], arrays[f"{part}_labels"]
    if images.ndim == 4 and images.shape[3] == 1:
        images = images[..., 0]
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if not np.issubdtype(labels.dtype, np.integer):
        raise DataError(f"{path}: {part}_labels have dtype {labels.dtype}; allowed: integers")
    return Split(images, labels.astype(np.int64))


def _numbered(labels: np.ndarray) -> Sequence[str]:
    return [str(label) for label in range(int(labels.max(initial=0)) + 1)]
