"""Verdicts as plain records, kept until the rows or the code change; light enough for the command line.

A record is what a table shows of one claim: strings and numbers only. The key of the cache is a hash of
the files that a paper's verdicts rest on: its committed and stored rows, printed numbers, fedlib's own
source. Runs of another paper, and where files lie, change no key. So records of the committed rows are
committed themselves (`SHIPPED`), and a new clone need not decide anew what has not changed.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fedlib.errors import WriteError
from fedlib.experiments.provenance import source_digest
from fedlib.experiments.store import RUN, SUMMARY
from fedlib.files import write_atomically
from fedlib.papers import paper_names
from fedlib.paths import chosen_folder, default_root, project_root, published_folder, results_folder

Record = dict[str, Any]
MOST_KEPT = 60  # files of the cache
SHOWING = r"cli/|plotting/|reporting/(?!verdicts\.py)"  # modules that show verdicts and decide none
SHIPPED = "verdicts.json"  # among the committed rows: records by key, without a store
ROWS_OF_OTHERS = {"start": ("feddrl",)}  # papers on whose rows claims of a paper may rest as well


def verdict_words(one: Record) -> str:
    """The verdict, with a word where a part that decides it so does it by an end next to its bound."""
    barely = any(part["barely"] for part in one["effects"] if part["verdict"] == one["verdict"])
    return f"{one['verdict']}{' (barely)' * barely}"


def known(paper: str | None, profile: str | None, store: Path | str | None) -> list[Record] | None:
    """The records of a paper, or of all; None if those of one are not kept."""
    parts = [read(fingerprint(name, profile, store)) for name in paper_names(paper)]
    return None if None in parts else [record for part in parts for record in part or ()]


def fingerprint(paper: str, profile: str | None, store: Path | str | None) -> str:
    """Hash of everything that the verdicts of a paper at a profile rest on."""
    root = default_root() if store is None else chosen_folder("run store", store)
    digest = hashlib.sha256(repr((paper, profile, source_digest(without=SHOWING))).encode())
    for folder, path in _files(paper, root):
        if profile is None and _shows_no_result(path):
            continue
        digest.update(f"{path.relative_to(folder)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:24]


def _files(paper: str, store: Path) -> Iterator[tuple[Path, Path]]:
    """Rows and printed numbers in a fixed order, each after its folder; of a stored run its summary.

    The summary holds the checksums of the run's other files.
    """
    own = (paper, *ROWS_OF_OTHERS.get(paper, ()))
    for folder, pattern in (
        *((results_folder(), f"{name}/*.*") for name in own),
        (published_folder(), "*.csv"),
        *((store, f"{name}/*/*/{SUMMARY}") for name in own),
        *((store, f"{name}/*/*.csv") for name in own),
    ):
        yield from ((folder, path) for path in sorted(folder.glob(pattern)))


def _shows_no_result(path: Path) -> bool:
    """Whether this vouches for rows of `smoke`, which decide nothing unless that profile is asked for."""
    if path.name == SUMMARY:
        return _load(path.with_name(RUN), {}).get("profile") == "smoke"
    return path.name == "kept-smoke.csv"


def read(key: str) -> list[Record] | None:
    """The records kept under this key, here or as committed; None where there are none that can be read."""
    found = _load(_file(key))
    return _load(results_folder() / SHIPPED, {}).get(key) if found is None else found


def _load(path: Path, default: Any = None) -> Any:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return default


def ship(records: dict[str, list[Record]]) -> Path:
    """Write the records of all papers, by key, beside the committed rows; a claim a line."""
    lists = (
        f"{json.dumps(key)}: [\n" + ",\n".join(map(json.dumps, own)) + "\n]" for key, own in records.items()
    )
    path = results_folder() / SHIPPED
    write_atomically(path, ("{\n" + ",\n".join(lists) + "\n}\n").encode())
    return path


def keep(key: str, records: list[Record]) -> None:
    """Keep records under this key, and drop the oldest beyond `MOST_KEPT`; nothing if that is impossible."""
    with contextlib.suppress(WriteError, OSError):  # the records in hand are worth more than their copy
        write_atomically(_file(key), json.dumps(records).encode())
        _drop_oldest(_file(key).parent)


def _drop_oldest(folder: Path) -> None:
    ages = {}
    for path in folder.glob("*.json"):
        with contextlib.suppress(FileNotFoundError):  # dropped meanwhile by another process
            ages[path] = path.stat().st_mtime
    for path in sorted(ages, key=ages.__getitem__, reverse=True)[MOST_KEPT:]:
        path.unlink(missing_ok=True)


def _file(key: str) -> Path:
    return project_root() / "build" / "verdicts" / f"{key}.json"
