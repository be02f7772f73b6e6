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

from fedlib._torchvision import load_torchvision
from fedlib.data.build import make_dataset
from fedlib.data.class_names import CENTRED_COLOUR, CIFAR10_CLASSES, DIGITS, FMNIST_CLASSES, GREY_DIGITS
from fedlib.data.dataset import Dataset, Split
from fedlib.data.titles import TITLES
from fedlib.errors import DataError
from fedlib.paths import data_folder

DEBIAN_FMNIST = Path("/usr/share/datasets/fashion-mnist")
DEBIAN_SHA256 = {  # of the unpacked idx files
    "train-images-idx3-ubyte.gz": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1-ubyte.gz": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "t10k-images-idx3-ubyte.gz": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1-ubyte.gz": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
}

ARCHIVE_SHA256 = {  # by the MD5 sum that torchvision knows an archive by
    "f68b3c2dcbeaaa9fbdd348bbdeb94873": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "d53e105ee54ea40749a09fcbcd1e9432": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "9fb629c4189551a2d022fa330f9573f3": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "ec29112dd5afa0611ce80d1b7f02629c": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    "8d4fb7e6c68d591d4c3dfef9ec88bf0d": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
    "25c81989df183df01b3e8a0aad5dffbe": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
    "bef4ecab320f06d8554ea6380940ec79": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
    "bb300cfdad3c16e7a12a480ee83cd310": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
    "c58f30108f718f92721af3b95e74349a": "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
    "eb9058c3a382ffc7106e4002c42a8d85": "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
}
HTTPS_MIRRORS = {"fmnist": "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/"}

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
    folder: str  # where the class keeps its files, and which it needs: as torchvision has them,
    files: tuple[str, ...]  # which takes seconds to import
    classes: tuple[str, ...] | None  # None: named in the data set's own files
    scale: dict
    licence: str

    @property
    def reader(self) -> type:
        return getattr(load_torchvision().datasets, self.kind)

    @property
    def is_idx(self) -> bool:
        return self.files == _IDX


_IDX = tuple(f"{part}-{what}-ubyte" for part in ("train", "t10k") for what in ("images-idx3", "labels-idx1"))
KNOWN = {
    "mnist": Known("MNIST", "MNIST/raw", _IDX, DIGITS, GREY_DIGITS, "CC BY-SA 3.0"),
    "fmnist": Known(
        "FashionMNIST", "FashionMNIST/raw", _IDX, FMNIST_CLASSES, GREY_DIGITS,
        "MIT, Copyright 2017 Zalando SE",
    ),
    "cifar10": Known(
        "CIFAR10", "cifar-10-batches-py",
        (*(f"data_batch_{n}" for n in range(1, 6)), "test_batch", "batches.meta"),
        CIFAR10_CLASSES, CENTRED_COLOUR, "none stated",
    ),
    "cifar100": Known(
        "CIFAR100", "cifar-100-python", ("train", "test", "meta"), None, CENTRED_COLOUR, "none stated",
    ),
}  # fmt: skip


def set_folder(name: str) -> Path:
    """Folder in which torchvision keeps the files of this data set."""
    return data_folder() / KNOWN[name].folder


def needed_files(name: str) -> list[Path]:
    """The files that reading needs (idx files unpacked; CIFAR's pickled batches)."""
    return [set_folder(name) / file for file in KNOWN[name].files]


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
        origin=f"{TITLES[name]} {origin}",
        licence=known.licence,
        **known.scale,
    )


def _check_archives(name: str, root: Path) -> None:
    """Hold the archives, where they lie beside the unpacked files, to their checksums."""
    for archive, md5 in _archives(name, root):
        if archive.is_file() and not _agrees(archive, md5):
            raise DataError(f"{archive} is damaged (its checksum is not that of {name}); {_again(name)}")


def _archives(name: str, root: Path) -> list[tuple[Path, str]]:
    """Files of a download, with torchvision's MD5 sums."""
    reader = KNOWN[name].reader
    if not KNOWN[name].is_idx:
        return [(root / reader.filename, reader.tgz_md5)]
    return [(root / reader.__name__ / "raw" / file, md5) for file, md5 in reader.resources]


def _agrees(path: Path, md5: str) -> bool:
    if md5 not in ARCHIVE_SHA256:  # of a torchvision with other archives
        return load_torchvision().datasets.utils.check_integrity(path, md5)
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == ARCHIVE_SHA256[md5]


def _again(name: str) -> str:
    return f"delete that folder and run `python -m fedlib data fetch {name}`"


def download_set(name: str) -> None:
    """Download with torchvision, by HTTPS first, and check every archive's sha256; DataError if it cannot."""
    folder = data_folder()
    if KNOWN[name].is_idx:
        _drop_unpacked(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _https_first(name)(folder, download=True)
    except (*_READ_ERRORS, http.client.HTTPException) as error:
        message = f"could not download {name} into {folder}: {_one_line(error)}"
        raise DataError(f"{message}; check the network, or put {name}.npz there") from error
    _check_archives(name, folder)


def _https_first(name: str) -> type:
    """torchvision's class with the mirrors that encrypt before those that do not."""
    reader = KNOWN[name].reader
    if not KNOWN[name].is_idx:
        return reader  # its one address is https
    mirrors = [*([HTTPS_MIRRORS[name]] if name in HTTPS_MIRRORS else []), *reader.mirrors]
    ordered = sorted(mirrors, key=lambda url: not url.startswith("https:"))
    return type(reader.__name__, (reader,), {"mirrors": ordered})  # the name is that of its folder


def _drop_unpacked(name: str) -> None:
    """Remove the unpacked idx files: torchvision keeps damaged ones, and unpacks archives anew."""
    for path in needed_files(name):
        path.unlink(missing_ok=True)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def debian_files() -> list[Path]:
    """Fashion-MNIST's four archives as Debian ships them; empty unless all are there."""
    files = [DEBIAN_FMNIST / f"{file}.gz" for file in _IDX]
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
            _unpack(raw / path.stem, content)
        return build_set("fmnist", Path(root), origin="from Debian's package dataset-fashion-mnist")


def _unpack(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise DataError(
            f"cannot unpack into {path.parent} ({_one_line(error)}); TMPDIR names another"
        ) from error
