"""An empty data folder for every test, and a maker of the official idx files."""

import gzip
import struct

import numpy as np
import pytest

from fedlib.data import torchvision_sets


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The data folder of this test; Debian's files are out of sight unless a test brings some."""
    monkeypatch.setenv("FEDLIB_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(torchvision_sets, "DEBIAN_FMNIST", tmp_path / "no-debian")
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def idx_bytes(array: np.ndarray) -> bytes:
    """The idx format: zero, zero, type 8 (uint8), dimensions, big-endian sizes, bytes."""
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


@pytest.fixture
def idx_files():
    """MNIST's four archives with 20 training and 10 test images: name -> gzip bytes."""
    rng = np.random.default_rng(0)
    files = {}
    for part, count in (("train", 20), ("t10k", 10)):
        images = rng.integers(256, size=(count, 28, 28), dtype=np.uint8)
        labels = (np.arange(count) % 10).astype(np.uint8)
        files[f"{part}-images-idx3-ubyte.gz"] = gzip.compress(idx_bytes(images), mtime=0)
        files[f"{part}-labels-idx1-ubyte.gz"] = gzip.compress(idx_bytes(labels), mtime=0)
    return files
