"""`fmnist-embedded`: 7,000 images of Fashion-MNIST that are committed with the code.

The first 600 training and the first 100 test images of every class, in the original order:
6,000 / 1,000 images, balanced. So an image's index in the full set is derivable, see
`dataset.first_per_class`. `write_embedded(load_dataset("fmnist"))` cuts the file anew.

Xiao, Rasul, Vollgraf: Fashion-MNIST: a novel image dataset for benchmarking machine learning
algorithms, 2017, https://arxiv.org/abs/1708.07747. MIT licence, Copyright 2017 Zalando SE.
"""

import io
import zipfile
from pathlib import Path

import numpy as np

from fedlib.data.build import make_dataset
from fedlib.data.class_names import FMNIST_CLASSES, GREY_DIGITS
from fedlib.data.dataset import Dataset, Split, first_per_class
from fedlib.errors import DataError
from fedlib.files import write_atomically
from fedlib.paths import embedded_folder

TRAIN_PER_CLASS = 600
TEST_PER_CLASS = 100
CHECKSUM = "7758da44df979ce82a449dde90c9aef8195bb5698ecab48d58b3a7c24b9a8740"
RESTORE = "restore it with `git checkout -- data/embedded`"


def embedded_file() -> Path:
    """The one compressed file."""
    return embedded_folder() / "fmnist_embedded.npz"


def cut(full: Dataset) -> dict[str, np.ndarray]:
    """The arrays of the embedded file, MedMNIST's layout, from Fashion-MNIST in full."""
    arrays = {}
    for split, count in (("train", TRAIN_PER_CLASS), ("test", TEST_PER_CLASS)):
        source = getattr(full, split)
        chosen = first_per_class(source.labels, count)
        arrays[f"{split}_images"] = source.images[chosen]
        arrays[f"{split}_labels"] = source.labels[chosen].astype(np.uint8)
    return arrays


def build_embedded() -> Dataset:
    """Read the embedded file; DataError if it is absent or not what was committed."""
    path = embedded_file()
    if not path.is_file():
        raise DataError(f"fmnist-embedded is absent: no file {path}; {RESTORE}")
    try:
        with open(path, "rb") as file, np.load(file) as stored:
            arrays = {key: stored[key] for key in stored.files}
        splits = [
            Split(arrays[f"{s}_images"], arrays[f"{s}_labels"].astype(np.int64)) for s in ("train", "test")
        ]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} is damaged ({error}); {RESTORE}") from error
    dataset = make_dataset(
        "fmnist-embedded",
        *splits,
        class_names=FMNIST_CLASSES,
        origin=f"first {TRAIN_PER_CLASS}/{TEST_PER_CLASS} images per class of Fashion-MNIST, embedded",
        licence="MIT, Copyright 2017 Zalando SE",
        **GREY_DIGITS,
    )
    if dataset.checksum != CHECKSUM:
        raise DataError(f"{path} is damaged (checksum {dataset.checksum[:12]}…); {RESTORE}")
    return dataset


def write_embedded(full: Dataset) -> None:
    """Cut the committed file anew from the full set."""
    packed = io.BytesIO()
    np.savez_compressed(packed, **cut(full))
    write_atomically(embedded_file(), packed.getvalue())
