"""The one cached array format: a folder per data set, `.npy` files and a `meta.json`.

    <data folder>/arrays/<key>/train_images.npy, train_labels.npy, [train_groups.npy], test_…
                               meta.json    fields of Dataset, and per file its bytes and sha256

Written to a temporary name, then renamed, so a folder under its own name is complete. Loading
memory-maps the images and compares file sizes, dtypes and ranges with `meta.json`; `verify` reads
every byte.
"""

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import filelock
import numpy as np

from fedlib.data.build import check_split, split_arrays
from fedlib.data.dataset import Dataset, Split
from fedlib.errors import DataError, shortened
from fedlib.paths import data_folder

FORMAT = 1
_FIELDS = (
    "name",
    "num_classes",
    "class_names",
    "origin",
    "checksum",
    "licence",
    "stand_in",
    "mean",
    "std",
    "group_names",
)
_PARTS = ("train", "test")
_FILES = {f"{part}_{kind}.npy" for part in _PARTS for kind in ("images", "labels", "groups")}


def _listed(kinds: type | tuple[type, ...]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(isinstance(one, kinds) for one in value)


def _is_file_table(value: Any) -> bool:
    return isinstance(value, dict) and all(
        name in _FILES and isinstance(about, dict) and type(about.get("bytes")) is int and "sha256" in about
        for name, about in value.items()
    )


_FITS: dict[str, Callable[[Any], bool]] = {  # what each field of `meta.json` has to be
    **{text: lambda value: isinstance(value, str) for text in ("name", "origin", "checksum", "licence")},
    "num_classes": lambda value: type(value) is int,
    "stand_in": lambda value: isinstance(value, bool),
    "class_names": _listed(str),
    "group_names": _listed(str),
    "mean": _listed((int, float)),
    "std": _listed((int, float)),
    "fingerprint": lambda value: isinstance(value, str),
    "files": _is_file_table,
}


class CacheDamaged(DataError):
    """A cached data set is not what was written; `path` is the file at fault."""

    def __init__(self, path: Path, reason: str):
        self.path = path
        super().__init__(f"{path} is damaged ({reason}); delete the folder {path.parent} and fetch again")


def cache_path(key: str) -> Path:
    """Folder of the cached data set `key`."""
    return data_folder() / "arrays" / key


@contextlib.contextmanager
def building(key: str) -> Iterator[None]:
    """Held by the one process that builds `key`; a second one waits here, then finds it built."""
    folder = cache_path(key).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(folder / ".lock")
        lock.acquire()
    except OSError as error:
        reason = error.strerror or error
        message = f"cannot write the data folder {data_folder()} ({reason}); FEDLIB_DATA names another"
        raise DataError(message) from error
    try:
        for left in folder.glob(".*-*/"):  # of a build that was killed: whoever builds holds the lock
            shutil.rmtree(left, ignore_errors=True)
        yield
    finally:
        lock.release()


def save(key: str, dataset: Dataset, fingerprint: str) -> None:
    """Store `dataset`, inside `building(key)`.

    `fingerprint` tells a later load whether the source has changed. DataError if the disk is full.
    """
    target = cache_path(key)
    temporary = None
    try:
        temporary = Path(tempfile.mkdtemp(prefix=f".{key}-", dir=target.parent))
        _write(temporary, dataset, fingerprint)
        if target.exists():
            os.rename(target, temporary / "old")
        os.rename(temporary / "new", target)
    except OSError as error:
        raise DataError(
            f"cannot write {target} ({error.strerror or error}); FEDLIB_DATA names another folder"
        ) from error
    finally:
        if temporary:
            shutil.rmtree(temporary, ignore_errors=True)


def _write(temporary: Path, dataset: Dataset, fingerprint: str) -> None:
    folder = temporary / "new"
    folder.mkdir()
    files = {}
    for part in _PARTS:
        for kind, array in split_arrays(getattr(dataset, part)).items():
            path = folder / f"{part}_{kind}.npy"
            np.save(path, array, allow_pickle=False)
            files[path.name] = {"bytes": path.stat().st_size, "sha256": _sha256(path)}
    meta = {field: getattr(dataset, field) for field in _FIELDS}
    meta |= {"format": FORMAT, "fingerprint": fingerprint, "files": files}
    (folder / "meta.json").write_text(json.dumps(meta, indent=1, ensure_ascii=False), encoding="utf-8")


def read_meta(key: str) -> dict[str, Any] | None:
    """The content of `meta.json`, None if the data set is not cached; CacheDamaged if unreadable."""
    path = cache_path(key) / "meta.json"
    if not path.parent.exists():
        return None
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CacheDamaged(path, str(error)) from error
    if not isinstance(meta, dict) or not {*_FIELDS, "fingerprint", "files"} <= meta.keys():
        raise CacheDamaged(path, "fields are missing")
    if wrong := next((name for name, fits in _FITS.items() if not fits(meta[name])), None):
        raise CacheDamaged(path, f"{wrong} is {shortened(json.dumps(meta[wrong]))}")
    if meta.get("format") != FORMAT:
        raise CacheDamaged(path, f"format {meta.get('format')}, this code reads {FORMAT}")
    return meta


def load(key: str, meta: dict[str, Any]) -> Dataset:
    """The cached data set, images memory-mapped; CacheDamaged on any disagreement with `meta`."""
    folder = cache_path(key)
    for name, stored in meta["files"].items():
        _check_size(folder / name, stored["bytes"])
    splits = {part: _load_split(folder, part, meta) for part in _PARTS}
    fields = {field: tuple(v) if isinstance(v := meta[field], list) else v for field in _FIELDS}
    return Dataset(**splits, **fields)


def _load_split(folder: Path, part: str, meta: dict[str, Any]) -> Split:
    arrays = {}
    for kind in ("images", "labels", "groups"):
        path = folder / f"{part}_{kind}.npy"
        if path.name in meta["files"]:
            arrays[kind] = _load_array(path, mapped=kind == "images")
    try:
        split = Split(**arrays)
        check_split(part, split, num_classes=meta["num_classes"], num_groups=len(meta["group_names"]))
    except (DataError, TypeError) as error:
        raise CacheDamaged(folder / "meta.json", str(error)) from error
    return split


def _load_array(path: Path, *, mapped: bool) -> np.ndarray:
    try:
        return np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise CacheDamaged(path, str(error)) from error


def _check_size(path: Path, expected: int) -> None:
    if not path.is_file():
        raise CacheDamaged(path, "the file is missing")
    if (found := path.stat().st_size) != expected:
        raise CacheDamaged(path, f"{found} bytes instead of {expected}")


def verify(key: str, meta: dict[str, Any]) -> list[tuple[Path, str]]:
    """Per cached file: (path, `checksum ok` | `damaged` | `absent`). Reads every byte."""
    rows = []
    for name, stored in meta["files"].items():
        path = cache_path(key) / name
        if not path.is_file():
            rows.append((path, "absent"))
        else:
            rows.append((path, "checksum ok" if _sha256(path) == stored["sha256"] else "damaged"))
    return rows


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
