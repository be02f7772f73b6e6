"""Catalogue entry of a data set, available before any image is read."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fedlib.data.dataset import Dataset


@dataclass(frozen=True)
class Source:
    """A source of a data set: its files, their reader, and how to get them.

    `find` returns the files at hand (empty: absent), `build` reads them into checked arrays.
    `options` are the keyword arguments of `build`. Sources without files to look for (the
    stand-ins) return an empty list and set `generated`.
    """

    name: str
    what: str
    build: Callable[..., Dataset]
    find: Callable[[], list[Path]]
    looked: Callable[[], str]  # the file or folder looked for, in words
    how: str  # how to get the data, in words
    options: tuple[str, ...] = ()
    download: Callable[[], None] | None = None
    stand_in: bool = False
    generated: bool = False
    cached: bool = True
    check: Callable[[], None] | None = None  # DataError by a look at the files that reads no image


def fingerprint(files: Sequence[Path]) -> str:
    """sha256 over paths (folders name classes and sources), sizes and times of change: cheap to compare."""
    digest = hashlib.sha256()
    for path in sorted(files):
        status = path.stat()
        digest.update(f"{path.as_posix()} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()
