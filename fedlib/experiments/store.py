"""The run store: one folder per run, written so that a kill at any instant does no harm.

    <root>/<paper>/<artifact>/<run.key>/run.json          the description
                                        rows.csv          per-round rows, tidy
                                        provenance.json   data, versions, device, commit, times
                                        summary.json      status, final metrics, sha256 of the three above
    <root>/<paper>/<artifact>/groups/<group>/             checkpoints of a group (checkpoints.py)

- Every file is written under a temporary name beside its target, synced, then renamed.
- `summary.json` comes last: a run is done exactly when its summary is there and vouches for the rest.
- A file that does not match is set aside as `<name>.damaged-<n>` with a warning that names it, and
  the run counts as not done.
- Whoever computes a run holds its lock; the operating system frees the lock of a killed process.
"""

import contextlib
import csv
import hashlib
import io
import json
import re
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import filelock

import fedlib
from fedlib.errors import DataError, UsageError, check
from fedlib.files import telling, write_atomically
from fedlib.paths import chosen_folder, default_root
from fedlib.run import Run, from_description

if TYPE_CHECKING:
    import pandas as pd

Row = Mapping[str, Any]

RUN, ROWS, PROVENANCE, SUMMARY = "run.json", "rows.csv", "provenance.json", "summary.json"
FINISHED, FAILED = "finished", "failed"
FORMAT = 1  # of the files of a run; summaries without a number are of format 1


class StoreWarning(UserWarning):
    """A file of the store was not as it should be; the message names it and says what is done about it."""


class StaleRowsWarning(StoreWarning):
    """Rows of an earlier grid or of other settings were left out: nothing is damaged."""


class CorruptFile(Exception):
    """A stored file that cannot be trusted."""

    def __init__(self, path: Path, why: str):
        super().__init__(f"{path} {why}")
        self.path = path


def set_aside(path: Path) -> Path:
    """Rename a damaged file, if still there, to `<name>.damaged-<n>` with the first free n; returns that."""
    number = 1
    while (target := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    with telling(target), contextlib.suppress(FileNotFoundError):
        path.rename(target)
    return target


def plain(value: Any) -> Any:
    """`value` as JSON would give it back: NumPy scalars and arrays unwrapped, tuples as lists."""
    return json.loads(json.dumps(value, default=lambda other: other.tolist()))


def to_json(value: Any) -> bytes:
    """Canonical, readable JSON, one field a line."""
    return (json.dumps(value, indent=1, sort_keys=True, default=lambda other: other.tolist()) + "\n").encode()


def to_csv(rows: Sequence[Row]) -> bytes:
    """Rows as CSV: columns by first appearance, floats in full, absent values empty, lists as JSON."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns or ["round"])
    writer.writerows([_cell(row.get(column)) for column in columns] for row in rows)
    return buffer.getvalue().encode()


def read_csv_exactly(path: Path, data: bytes | None = None) -> "pd.DataFrame":
    """A CSV file, or its `data`, with every float as it was written; UsageError for one that is damaged."""
    import pandas as pd

    # Exact by default from pandas 3.1 on, which warns about the argument that older versions need.
    major, minor = (int(part) for part in pd.__version__.split(".")[:2])
    older = {"float_precision": "round_trip"} if (major, minor) < (3, 1) else {}
    try:
        return pd.read_csv(path if data is None else io.BytesIO(data), low_memory=False, **older)
    except (
        ValueError,
        OSError,
        EOFError,
        zlib.error,
    ) as error:  # ValueError: pandas' own and of the encoding
        raise UsageError(f"{path} is damaged ({str(error).strip()}); restore it or delete it") from error


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list | dict) else value


def final_metrics(rows: Sequence[Row]) -> dict[str, float]:
    """The last number that each column of the rows holds."""
    final: dict[str, float] = {}
    for row in rows:
        numbers = {k: v for k, v in row.items() if isinstance(v, int | float) and not isinstance(v, bool)}
        final.update(numbers)
    return final


@dataclass(frozen=True)
class StoredRun:
    """A completed run: finished, or failed with a deterministic error."""

    run: Run
    folder: Path
    status: str  # finished or failed
    reason: str  # why it failed; empty when finished
    final: dict[str, float]  # last value of every numeric column
    provenance: dict[str, Any]

    def rows(self) -> "pd.DataFrame":
        """The stored per-round rows; floats exactly as they were written."""
        return read_csv_exactly(self.folder / ROWS)


class Store:
    """A folder of runs, shared by any number of processes."""

    def __init__(self, root: Path | str | None = None):
        self.root = chosen_folder("run store", root) if root is not None else default_root()

    def artifact_folder(self, artifact_id: str) -> Path:
        return self.root / artifact_id

    def folder(self, run: Run) -> Path:
        """The run's folder; UsageError for a paper or artifact whose name is no name of a folder."""
        for name in (run.paper, run.artifact):
            check(
                re.fullmatch(r"\w[\w.-]*", name) is not None,
                f"paper {run.paper!r}, artifact {run.artifact!r} given; allowed: letters, digits, _, . and -",
            )
        return self.artifact_folder(run.id) / run.key

    def put(
        self,
        run: Run,
        *,
        rows: Sequence[Row],
        provenance: Mapping[str, Any],
        status: str = FINISHED,
        reason: str = "",
    ) -> None:
        """Store a run that is done. The summary is written last and makes it count."""
        folder = self.folder(run)
        files = {RUN: to_json(run.describe()), ROWS: to_csv(rows), PROVENANCE: to_json(provenance)}
        for name, data in files.items():
            write_atomically(folder / name, data)
        summary = {
            "status": status,
            "reason": reason,
            "final": final_metrics(rows),
            "files": {name: _digest(data) for name, data in files.items()},
            "format": FORMAT,
            "fedlib": fedlib.__version__,
        }
        write_atomically(folder / SUMMARY, to_json(summary | {"sha256": _digest(to_json(summary))}))

    def get(self, run: Run) -> StoredRun | None:
        """The stored run if it is done and whole, else None; a damaged one is warned about, not touched."""
        return _read_or_warn(self.folder(run))

    def has(self, run: Run) -> bool:
        """Whether the run is done and whole, without a word about damage."""
        try:
            return _read(self.folder(run)) is not None
        except CorruptFile:
            return False

    def get_or_repair(self, run: Run) -> StoredRun | None:
        """Like `get`, but sets damaged files aside. Only for who holds the run's lock."""
        folder = self.folder(run)
        try:
            return _read(folder)
        except CorruptFile as damage:
            kept = set_aside(damage.path).name if damage.path.exists() else "nothing left to set aside"
            if damage.path.name != SUMMARY:
                set_aside(folder / SUMMARY)
            warnings.warn(
                StoreWarning(f"{damage}; set aside ({kept}), the run is computed again"), stacklevel=2
            )
            return None

    def forget(self, run: Run) -> None:
        """Make a done run count as not done. Only for who holds the run's lock."""
        with telling(self.folder(run)):
            (self.folder(run) / SUMMARY).unlink(missing_ok=True)

    def scan(self, artifact_id: str) -> Iterator[StoredRun]:
        """All runs of an artifact that are done; damaged ones are warned about and left out."""
        for summary in sorted(self.artifact_folder(artifact_id).glob(f"*/{SUMMARY}")):
            stored = _read_or_warn(summary.parent)
            if stored is not None:
                yield stored

    def try_lock(self, run: Run) -> filelock.BaseFileLock | None:
        """The run's lock, held, or None when another process holds it."""
        return _try_lock(self.folder(run) / ".lock")

    @contextlib.contextmanager
    def claiming(self, artifact_id: str, part: str = "", *, wait: bool = True) -> Iterator[bool]:
        """Held while a process chooses what to compute, so that two never block each other half-way.

        part: of a measurement, held while it is computed. Yields whether it is held: without `wait`, not
        where another process holds it.
        """
        path = self.artifact_folder(artifact_id) / f".claim{part}.lock"
        with telling(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = filelock.FileLock(path)
            with contextlib.suppress(*() if wait else (filelock.Timeout,)):
                lock.acquire(blocking=wait, poll_interval=0.05)
        try:
            yield lock.is_locked
        finally:
            lock.release()


def _try_lock(path: Path) -> filelock.BaseFileLock | None:
    with telling(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(path)
        try:
            lock.acquire(blocking=False)
        except filelock.Timeout:
            return None
    remove_left_overs(path.parent)
    return lock


def remove_left_overs(folder: Path) -> None:
    """Delete temporary files of a killed process; the caller holds the folder's lock."""
    for path in folder.glob(".*.tmp"):
        path.unlink(missing_ok=True)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read_or_warn(folder: Path) -> StoredRun | None:
    try:
        return _read(folder)
    except CorruptFile as damage:
        warnings.warn(StoreWarning(f"{damage}; left out, the next `run` computes it again"), stacklevel=3)
        return None


def _read(folder: Path) -> StoredRun | None:
    """The run in `folder`, None if it is not done; CorruptFile if a file is not what its summary says.

    A reader has no lock: where the run was stored again meanwhile, it is read once more.
    """
    if (written := _written_summary(folder)) is None:
        return None
    try:
        return _as_summarised(folder, written)
    except CorruptFile:
        if (now := _written_summary(folder)) == written:
            raise
    return None if now is None else _as_summarised(folder, now)


def _written_summary(folder: Path) -> bytes | None:
    try:
        return (folder / SUMMARY).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CorruptFile(folder / SUMMARY, f"cannot be read ({error.strerror})") from error


def _as_summarised(folder: Path, written: bytes) -> StoredRun:
    path = folder / SUMMARY
    try:
        summary = json.loads(written)
        own = summary.pop("sha256")
        check_format(path, summary.get("format", 1), summary.get("fedlib"), up_to=FORMAT)
        known = {name: summary[name] for name in ("status", "reason", "final")}
        digests = {name: summary["files"][name] for name in (RUN, ROWS, PROVENANCE)}
        if own != _digest(to_json(summary)):
            raise CorruptFile(path, "does not match its own sha256")
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise CorruptFile(path, "is not a readable summary") from error
    contents = {name: _verified(folder / name, digest) for name, digest in digests.items()}
    described, provenance = (_json_object(folder / name, contents[name]) for name in (RUN, PROVENANCE))
    try:
        run = from_description(described)
    except TypeError as error:
        version = summary.get("fedlib", "of another version")
        raise CorruptFile(folder / RUN, f"was written by fedlib {version}, with other fields") from error
    return StoredRun(run=run, folder=folder, provenance=provenance, **known)


def _json_object(path: Path, data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CorruptFile(path, "is not JSON") from error
    if not isinstance(value, dict):
        raise CorruptFile(path, "is not a JSON object")
    return value


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CorruptFile(path, f"cannot be read ({error.strerror})") from error


def check_format(path: Path, written: Any, version: str | None, *, up_to: int) -> None:
    """DataError for a file that a newer version of fedlib wrote: it is whole, and must not be replaced."""
    if isinstance(written, int) and written > up_to:
        by = f"fedlib {version or 'of unknown version'} in format {written}"
        raise DataError(f"{path} was written by {by}; this version reads formats up to {up_to}")


def _verified(path: Path, digest: str) -> bytes:
    if not path.exists():
        raise CorruptFile(path, "is missing")
    data = _bytes(path)
    if _digest(data) != digest:
        raise CorruptFile(path, "does not match its sha256")
    return data
