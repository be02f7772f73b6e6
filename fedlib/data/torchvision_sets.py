"""MNIST, Fashion-MNIST, CIFAR-10 and CIFAR-100 through torchvision's classes, with its checksums.

`download_set` is the only function of the package that uses a network. Fashion-MNIST may also
come from the idx files of Debian's package `dataset-fashion-mnist`, read by torchvision's reader.
"""

import gzip
import hashlib
import http.client
import pickle
import tempfile
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedlib._torchvision import torchvision
from fedlib.data.build import make_dataset
from fedlib.data.dataset import Dataset, Split
from fedlib.data.folders import data_folder
from fedlib.data.names import CENTRED_COLOUR, CIFAR10_CLASSES, DIGITS, FMNIST_CLASSES, GREY_DIGITS
from fedlib.errors import DataError

DEBIAN_FMNIST = Path("/usr/share/datasets/fashion-mnist")
DEBIAN_SHA256 = {  # of the unpacked idx files
    "train-images-idx3-ubyte.gz": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1-ubyte.gz": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "t10k-images-idx3-ubyte.gz": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1-ubyte.gz": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
}

# what reading a truncated or altered file raises in torchvision's readers
_READ_ERRORS = (
    RuntimeError,
    OSError,
    ValueError,
    TypeError,
    AssertionError,
    KeyError,
    EOFError,
    pickle.PickleError,
)


@dataclass(frozen=True)
class Known:
    """A data set of torchvision: its class there, and what fedlib adds."""

    kind: str  # name of the class in torchvision.datasets
    title: str
    classes: tuple[str, ...] | None  # None: named in the data set's own files
    scale: dict
    licence: str

    @property
    def reader(self) -> type:
        return getattr(torchvision.datasets, self.kind)

    @property
    def is_idx(self) -> bool:
        return hasattr(self.reader, "resources")


KNOWN = {
    "mnist": Known("MNIST", "MNIST", DIGITS, GREY_DIGITS, "CC BY-SA 3.0"),
    "fmnist": Known(
        "FashionMNIST", "Fashion-MNIST", FMNIST_CLASSES, GREY_DIGITS, "MIT, Copyright 2017 Zalando SE"
    ),
    "cifar10": Known("CIFAR10", "CIFAR-10", CIFAR10_CLASSES, CENTRED_COLOUR, "none stated"),
    "cifar100": Known("CIFAR100", "CIFAR-100", None, CENTRED_COLOUR, "none stated"),
}


def set_folder(name: str) -> Path:
    """Where torchvision keeps the files of this data set."""
    reader = KNOWN[name].reader
    return data_folder() / (f"{reader.__name__}/raw" if KNOWN[name].is_idx else reader.base_folder)


def needed_files(name: str) -> list[Path]:
    """The files that reading needs (idx files unpacked; CIFAR's pickled batches)."""
    reader, folder = KNOWN[name].reader, set_folder(name)
    if KNOWN[name].is_idx:
        return [folder / Path(file).stem for file, _ in reader.resources]
    return [folder / file for file, _ in reader.train_list + reader.test_list] + [
        folder / reader.meta["filename"]
    ]


def find_set(name: str) -> list[Path]:
    """The files at hand; empty if there is none. DataError if some are there and others are not."""
    files = needed_files(name)
    present = [path for path in files if path.is_file()]
    if present and len(present) < len(files):
        missing = next(path for path in files if not path.is_file())
        raise DataError(
            f"{name} is incomplete: no file {missing}; `python -m fedlib data fetch {name}` gets it"
        )
    return present


def build_set(name: str, root: Path | None = None, origin: str = "through torchvision") -> Dataset:
    """Read the data set under `root` (default: the data folder); DataError if a file is damaged."""
    known = KNOWN[name]
    root = root or data_folder()
    if known.is_idx:
        _check_archives(name, root)
    try:
        with warnings.catch_warnings():
            # CIFAR's pickles of 2009 hold a dtype flag that newer NumPy releases warn about
            warnings.filterwarnings("ignore", message=".*align.*")
            parts = [known.reader(root, train=train, download=False) for train in (True, False)]
    except _READ_ERRORS as error:
        raise DataError(
            f"{name}: a file under {set_folder(name)} is damaged ({_one_line(error)}); {_again(name)}"
        ) from error
    return make_dataset(
        name,
        *(Split(np.asarray(part.data), np.asarray(part.targets, dtype=np.int64)) for part in parts),
        class_names=known.classes or parts[0].classes,
        origin=f"{known.title} {origin}",
        licence=known.licence,
        **known.scale,
    )


def _check_archives(name: str, root: Path) -> None:
    """Hold the archives, where they lie beside the unpacked files, to torchvision's checksums."""
    reader = KNOWN[name].reader
    for file, md5 in reader.resources:
        archive = root / reader.__name__ / "raw" / file
        if archive.is_file() and not _md5_agrees(archive, md5):
            raise DataError(f"{archive} is damaged (its checksum is not torchvision's {md5}); {_again(name)}")


def _md5_agrees(path: Path, md5: str) -> bool:
    return torchvision.datasets.utils.check_integrity(path, md5)


def _again(name: str) -> str:
    return f"delete that folder and run `python -m fedlib data fetch {name}`"


def download_set(name: str) -> None:
    """Download with torchvision, which checks every file's MD5 sum; DataError if it cannot."""
    folder = data_folder()
    if KNOWN[name].is_idx:
        _drop_unpacked(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        KNOWN[name].reader(folder, download=True)
    except (*_READ_ERRORS, http.client.HTTPException) as error:
        message = f"could not download {name} into {folder}: {_one_line(error)}"
        raise DataError(f"{message}; check the network, or put {name}.npz there") from error


def _drop_unpacked(name: str) -> None:
    """Remove the unpacked idx files: torchvision keeps damaged ones, and unpacks archives anew."""
    for path in needed_files(name):
        path.unlink(missing_ok=True)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def debian_files() -> list[Path]:
    """Fashion-MNIST's four archives as Debian ships them; empty unless all are there."""
    files = [DEBIAN_FMNIST / file for file, _ in KNOWN["fmnist"].reader.resources]
    return files if all(path.is_file() for path in files) else []


def build_debian_fmnist() -> Dataset:
    """Fashion-MNIST in full from Debian's files, which hold the original idx files, compressed anew.

    Their MD5 sums are therefore not torchvision's; the unpacked contents are held to sha256 instead.
    """
    reader = KNOWN["fmnist"].reader
    with tempfile.TemporaryDirectory() as root:
        raw = Path(root) / reader.__name__ / "raw"
        raw.mkdir(parents=True)
        for path in debian_files():
            try:
                content = gzip.decompress(path.read_bytes())
            except (OSError, EOFError, zlib.error) as error:
                raise DataError(f"{path} is damaged ({_one_line(error)}); reinstall its package") from error
            if hashlib.sha256(content).hexdigest() != DEBIAN_SHA256[path.name]:
                raise DataError(
                    f"{path} is damaged (sha256 of its content is another); reinstall its package"
                )
            (raw / path.stem).write_bytes(content)
        return build_set("fmnist", Path(root), origin="from Debian's package dataset-fashion-mnist")
