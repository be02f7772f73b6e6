"""Verdicts as plain records, kept until the rows or the code change; light enough for the command line.

A record is what a table shows of one claim: strings and numbers only. The key of the cache is a hash
over name, size and time of every file that a paper's verdicts rest on: its committed and stored rows,
printed numbers, fedlib's own source. Runs of another paper, and where an empty store lies, change no key.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fedlib.experiments.provenance import source_files
from fedlib.files import write_atomically
from fedlib.papers import paper_names
from fedlib.paths import REPOSITORY, data_folder, default_root, project_root, results_folder

Record = dict[str, Any]
MOST_KEPT = 60  # files of the cache
ROWS_OF_OTHERS = {"start": ("feddrl",)}  # papers on whose rows claims of a paper may rest as well


def known(paper: str | None, profile: str | None, store: Path | str | None) -> list[Record] | None:
    """The records of a paper, or of all; None if those of one are not kept."""
    parts = [read(fingerprint(name, profile, store)) for name in paper_names(paper)]
    return None if None in parts else [record for part in parts for record in part or ()]


def fingerprint(paper: str, profile: str | None, store: Path | str | None) -> str:
    """Hash of everything that the verdicts of a paper at a profile rest on."""
    root = Path(store).expanduser() if store else default_root()
    digest = hashlib.sha256(repr((paper, profile, str(data_folder()))).encode())
    for path in _files(paper, root):
        about = path.stat()
        digest.update(f"{path}\0{about.st_size}\0{about.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:24]


def _files(paper: str, store: Path) -> Iterator[Path]:
    """Rows, printed numbers and source, in a fixed order; of the store the files that vouch for a run."""
    own = (paper, *ROWS_OF_OTHERS.get(paper, ()))
    for folder, pattern in (
        *((results_folder() / name, "*.*") for name in own),
        (project_root() / "data" / "published", "*.csv"),
        *((store / name, "*/*/summary.json") for name in own),
        *((store / name, "*/*.csv") for name in own),
    ):
        yield from sorted(folder.glob(pattern)) if folder.is_dir() else ()
    yield from source_files(REPOSITORY / "fedlib")


def read(key: str) -> list[Record] | None:
    """The records kept under this key; None if there are none, or if they cannot be read."""
    try:
        return json.loads(_file(key).read_text())
    except (OSError, ValueError):
        return None


def keep(key: str, records: list[Record]) -> None:
    """Keep records under this key, and drop the oldest beyond `MOST_KEPT`."""
    folder = _file(key).parent
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(_file(key), json.dumps(records).encode())
    ages = {}
    for path in folder.glob("*.json"):
        with contextlib.suppress(FileNotFoundError):  # dropped meanwhile by another process
            ages[path] = path.stat().st_mtime
    for path in sorted(ages, key=ages.__getitem__, reverse=True)[MOST_KEPT:]:
        path.unlink(missing_ok=True)


def _file(key: str) -> Path:
    return project_root() / "build" / "verdicts" / f"{key}.json"
