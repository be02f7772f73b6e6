"""Committed rows: `data/results/<paper>/<name>-<profile>.parquet`, described in docs/results.md.

The file's metadata hold, as JSON under the key `fedlib`, what the rows were computed with: the full
description and provenance of every run (`runs`), or the settings and provenance of a measurement.

`data/results/SHA256SUMS` vouches for these files, as `sha256sum --check` reads it: a listed one that differs
is refused, one that is not listed is read as it is.
"""

import contextlib
import functools
import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import filelock

from fedlib.errors import UsageError, check
from fedlib.files import telling, write_atomically
from fedlib.paths import results_folder
from fedlib.run import Run, from_description

if TYPE_CHECKING:
    import pandas as pd

CHECKSUMS = "SHA256SUMS"  # in the folder of committed rows
_KEY = "fedlib"
# what reading damaged details raises
_DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
_DIGITS = 6  # of floats


def results_file(place: str, profile: str) -> Path:
    """The file of rows that are filed under `<paper>/<name>`."""
    return results_folder() / f"{place}-{profile}.parquet"


def listed_sums() -> dict[str, str]:
    """File below the folder of committed rows -> its sha256 in `SHA256SUMS`; empty without such a list."""
    path = results_folder() / CHECKSUMS
    text = path.read_text(errors="replace") if path.is_file() else ""
    return {name: digest for digest, name in re.findall(r"^([0-9a-f]{64}) [ *](.+)$", text, re.MULTILINE)}


def is_lost(path: Path) -> bool:
    """Whether a file that the list has is not there."""
    return not path.is_file() and _listed(path) is not None


def _listed(path: Path) -> str | None:
    folder = results_folder()
    return listed_sums().get(path.relative_to(folder).as_posix()) if path.is_relative_to(folder) else None


def _whole(path: Path) -> io.BytesIO:
    """The content of a file; ValueError if it is not what the list says."""
    data = path.read_bytes()
    if _listed(path) not in (None, hashlib.sha256(data).hexdigest()):
        raise ValueError(f"its sha256 is not the one in {CHECKSUMS}")
    return io.BytesIO(data)


def read_rows(path: Path) -> "pd.DataFrame":
    """The rows of a file; UsageError if it is damaged."""
    import pyarrow

    try:
        found = path.stat()
        return _decoded(path, _listed(path), found.st_mtime_ns, found.st_size).copy(deep=False)
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise UsageError(f"{path} cannot be read ({error}); restore it with `git checkout`") from error


@functools.lru_cache(maxsize=4)  # many artifacts show runs of one large file, asked for at three profiles
def _decoded(path: Path, *_version: object) -> "pd.DataFrame":
    import pandas as pd

    return pd.read_parquet(_whole(path), page_checksum_verification=True)


def read_details(path: Path) -> dict[str, Any]:
    """Read the provenance of rows; empty if there is no file, UsageError if it is damaged."""
    import pyarrow
    import pyarrow.parquet

    if not path.is_file():
        return {}
    try:
        details = json.loads(pyarrow.parquet.read_metadata(_whole(path)).metadata[_KEY.encode()])
        runs = details["runs"].values()
    except (*_DAMAGE, pyarrow.ArrowException) as error:
        raise UsageError(f"{path} cannot be read ({error}); restore it with `git checkout`") from error
    whole = all({"description", "provenance"} <= {*run} for run in runs)
    check(whole, f"{path} is damaged (no runs with description and provenance); restore it")
    return details


def write_rows(path: Path, rows: "pd.DataFrame", details: Mapping[str, Any]) -> Path:
    """Write rows with their details; the same rows give the same bytes. Floats get 6 significant digits.

    A file in the folder of committed rows is listed in its `SHA256SUMS`, too.
    """
    import pyarrow
    import pyarrow.parquet

    table, packed = pyarrow.Table.from_pandas(_plain(rows), preserve_index=False), io.BytesIO()
    told = json.dumps(details, sort_keys=True)
    protected = {"compression": "zstd", "write_page_checksum": True}
    with pyarrow.parquet.ParquetWriter(packed, table.schema, **protected) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({_KEY: told})
    write = _write_listed if path.is_relative_to(results_folder()) else write_atomically
    write(path, packed.getvalue())
    return path


@contextlib.contextmanager
def changing_results() -> Iterator[None]:
    """Held while committed rows are read, merged and written, lest a process lose what another one adds."""
    lock = _lock(folder := results_folder())
    with telling(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@functools.cache  # one object: who holds it may take it again
def _lock(folder: Path) -> filelock.BaseFileLock:
    return filelock.FileLock(folder / f".{CHECKSUMS}.lock")


def _write_listed(path: Path, data: bytes) -> None:
    """Write a file and its sum; a kill in between leaves it without one. One process at a time."""
    with changing_results():
        name, others = path.relative_to(results_folder()).as_posix(), listed_sums()
        if others.pop(name, None):
            _write_sums(others)
        write_atomically(path, data)
        _write_sums(others | {name: hashlib.sha256(data).hexdigest()})


def _write_sums(sums: Mapping[str, str]) -> None:
    lines = (f"{digest}  {name}\n" for name, digest in sorted(sums.items()))
    write_atomically(results_folder() / CHECKSUMS, "".join(lines).encode())


def _plain(rows: "pd.DataFrame") -> "pd.DataFrame":
    """Columns of one type each: floats rounded, whole numbers kept, mixed values as JSON text."""
    from pandas.api.types import infer_dtype

    columns = {}
    for name in (column for column in rows if rows[column].dtype == object):
        if infer_dtype(rows[name], skipna=True) == "mixed-integer-float":  # 2 of one file, 2.0 of another
            rows = rows.assign(**{name: rows[name].astype(float)})
    for name in rows.select_dtypes("float"):
        values = rows[name]
        whole = (values.dropna() % 1 == 0).all()  # byte counts must not be cut to 6 digits
        columns[name] = values if whole else values.map(lambda value: float(f"{value:.{_DIGITS}g}"))
    for name in (column for column in rows if rows[column].dtype == object):
        kinds = {type(value) for value in rows[name].dropna()}
        if len(kinds) > 1:
            columns[name] = rows[name].map(_text, na_action="ignore")
    return rows.assign(**columns)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def committed_runs(place: str, profile: str) -> Iterator[tuple[Run, dict[str, Any]]]:
    """The committed runs filed there that can still be described, each with its provenance."""
    for item in read_details(results_file(place, profile)).get("runs", {}).values():
        run = current_run(item["description"])
        if run is not None:
            yield run, item["provenance"]


def without_committed(runs: Iterable[Run]) -> list[Run]:
    """Runs whose rows are not in the committed results."""
    runs = list(runs)
    files = {(run.id, run.profile) for run in runs}
    known = {run.key for place, profile in files for run, _ in committed_runs(place, profile)}
    return [run for run in runs if run.key not in known]


def current_run(description: Mapping[str, Any]) -> Run | None:
    """The run of a stored description; None if it has a field that no longer exists."""
    try:
        return from_description(description)
    except TypeError:
        return None
