"""Stored rows of measurements: timings, searches, embeddings, whatever takes long without being a run.

    <root>/<paper>/<name>/kept-<profile>.csv     the rows
                          kept-<profile>.json    their sha256, settings, provenance and wall seconds,
                                                 written last
                          part-<profile>-<n>.*   the same of one part, until all are there (`parts`)

A measurement is done when the JSON's checksum matches the CSV and its settings are those of today
(`Measurement.settings`); it is then never repeated unless asked for. While rows give way to others, the JSON
vouches for both, so that a reader finds the ones or the others whole.

Parts beside whole rows are of a repetition that was begun. Each names the rows that it `replaces`, by the
digest of their JSON, and counts until they are replaced: what a finished repetition leaves is no part of the
next.
"""

import contextlib
import hashlib
import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedlib.experiments import provenance
from fedlib.experiments.artifact import Measurement
from fedlib.experiments.budget import Budget, BudgetExhausted
from fedlib.experiments.durations import expected_measurement, minutes
from fedlib.experiments.progress import Progress
from fedlib.experiments.store import (
    CorruptFile,
    StaleRowsWarning,
    Store,
    StoreWarning,
    read_csv_exactly,
    set_aside,
    to_json,
)
from fedlib.files import write_atomically

if TYPE_CHECKING:
    import pandas as pd
    import torch


def measurement_path(measurement: Measurement, profile: str, store: Store) -> Path:
    """Path of a measurement's rows in a store."""
    return store.artifact_folder(measurement.id) / f"kept-{profile}.csv"


def compute_measurement(
    measurement: Measurement,
    profile: str,
    store: Store,
    *,
    again: bool = False,
    budget: Budget | None = None,
    progress: Progress | None = None,
) -> "pd.DataFrame":
    """Rows of a measurement, computed and stored unless they are there already.

    Waits for another process at work on the same measurement, or shares its parts with it. again: compute
    even if stored, and go on with the parts of a repetition that was cut short. budget: it cannot stop a
    measurement, or a part of one, midway, so BudgetExhausted is raised before one that takes longer than is
    left, and where it ends while another process is at work.
    progress: prints the line that says so.
    """
    budget, progress = budget or Budget(), progress or Progress()
    path = measurement_path(measurement, profile, store)
    about = settings_of(measurement, profile)
    if measurement.parts is not None and not again:
        share_parts(measurement, profile, store, budget)
    with _claimed(measurement, store, budget, progress):
        stored = _current(measurement, profile, path, repair=True)
        if stored and not again:
            pass
        elif measurement.parts is None:
            _require_time(measurement, profile, budget)
            given = [store] if measurement.reads_store else []
            _compute(path, about, lambda: measurement.compute(profile, *given))
        else:
            replaces = {"replaces": _digest(to_json(stored[1]))} if stored else {}
            _compute_parts(measurement, profile, store, budget, replaces, progress=progress)
            _join_parts(measurement, profile, path, about)
    return load_measurement(measurement, profile, store)


@contextlib.contextmanager
def _claimed(
    measurement: Measurement, store: Store, budget: Budget, progress: Progress | None, part: str = ""
) -> Iterator[bool]:
    """Claim a measurement or part (`Store.claiming`), waiting if there is a progress to say it by.

    Yields whether it is held. Raises BudgetExhausted where the time budget ends while another process works.
    """
    told = False
    while True:
        with store.claiming(measurement.id, part, wait=False) as held:
            if held or progress is None:
                yield held
                return
        if not told:
            progress.say(f"waiting for another process at work on {measurement.id}")
            told = True
        budget.wait()


def _require_time(measurement: Measurement, profile: str, budget: Budget) -> None:
    """BudgetExhausted if no time is left, or less than the committed rows took, where there are any."""
    if budget.minutes is None:
        return
    expected = expected_measurement(measurement, profile)
    if budget.allows(expected.seconds):
        return
    reason = "the time budget is used up"
    if budget.allows(0.0):
        left = minutes(budget.remaining_seconds())
        reason = f"it takes {expected.text()}, and {left} of the time budget is left"
    raise BudgetExhausted(f"{measurement.id}: not begun, {reason}")


def _compute(path: Path, about: dict[str, Any], compute: "Callable[[], pd.DataFrame]") -> None:
    began = time.monotonic()
    rows = compute()
    _write(path, rows, about, time.monotonic() - began)


def share_parts(
    measurement: Measurement, profile: str, store: Store, budget: Budget | None, *, last_first: bool = False
) -> None:
    """Compute and store the parts of a measurement that are not stored and at which no other process works.

    It waits for none, not for one that holds the measurement either. last_first: from the last part on, as a
    further process does, so that two meet half-way.
    """
    path = measurement_path(measurement, profile, store)
    with store.claiming(measurement.id, wait=False) as held:
        stored = _current(measurement, profile, path, repair=held)
    if not stored:
        _compute_parts(measurement, profile, store, budget, {}, last_first=last_first)


def _compute_parts(
    measurement: Measurement,
    profile: str,
    store: Store,
    budget: Budget | None,
    replaces: Mapping[str, str],
    *,
    progress: Progress | None = None,
    last_first: bool = False,
) -> None:
    """Compute the parts that are not stored.

    A stored one counts if its settings, source, versions and device are those of now, and if it `replaces`
    what these are to replace, of a repetition. Parts at which other processes work are left to them without
    `progress`, else waited for.
    """
    assert measurement.parts is not None
    path, budget = measurement_path(measurement, profile, store), budget or Budget()
    now = {
        **settings_of(measurement, profile),
        "code": provenance.code(),
        "device_name": provenance.device_name(_device()),
        **replaces,
    }
    parts = list(zip(measurement.parts(profile), _part_paths(measurement, profile, path), strict=True))
    for part, own in reversed(parts) if last_first else parts:
        vouching = {**now, "part": str(part)}
        with _claimed(measurement, store, budget, progress, f"-{own.stem}") as held:
            if not held:
                continue
            if (found := _whole(own, repair=True)) and vouching.items() <= found[1].items():
                continue
            if not replaces and _current(measurement, profile, path, repair=False):
                return  # another process has joined all parts and removed them
            with warnings.catch_warnings(action="ignore", category=StoreWarning):  # each is told in its turn
                there = [found[1] for _, one in parts if (found := _whole(one, repair=False))]
            if not budget.allows(max(map(_seconds, there), default=0.0)):
                done = sum(now.items() <= details.items() for details in there)
                told = f"{done} of {len(parts)} parts are stored"
                raise BudgetExhausted(f"{measurement.id}: {told}, and the time budget is used up")
            _compute(own, vouching, partial(measurement.compute, profile, part))


def _part_paths(measurement: Measurement, profile: str, path: Path) -> list[Path]:
    """Paths of the rows of each part, until all are there."""
    assert measurement.parts is not None
    count = len(measurement.parts(profile))
    return [path.with_name(f"part-{profile}-{number}.csv") for number in range(count)]


def _join_parts(measurement: Measurement, profile: str, path: Path, about: dict[str, Any]) -> None:
    """Write the rows of all parts at `path` and remove the parts."""
    import pandas as pd

    paths = _part_paths(measurement, profile, path)
    seconds = sum(_seconds(details_beside(own)) for own in paths)
    _write(path, pd.concat(map(read_csv_exactly, paths), ignore_index=True), about, seconds)
    for own in paths:
        own.with_suffix(".json").unlink()  # before the rows, which without it are none
        own.unlink()


def how_it_is_stored(measurement: Measurement, profile: str, store: Store) -> str:
    """In words for a measurement that is not whole: stored at once, or how many of its parts are.

    The parts themselves are not asked for, since their modules may import torch.
    """
    if measurement.parts is None:
        return "measured once and stored"
    folder = measurement_path(measurement, profile, store).parent
    done = sum(_whole(path, repair=False) is not None for path in folder.glob(f"part-{profile}-*.csv"))
    return f"measured in parts, {done} stored"


def _seconds(details: Mapping[str, Any]) -> float:
    """The wall time of stored rows."""
    return float(details["provenance"]["wall_seconds"])


def load_measurement(measurement: Measurement, profile: str, store: Store) -> "pd.DataFrame | None":
    """The stored rows with their provenance in columns, or None if there are none."""
    path = measurement_path(measurement, profile, store)
    if (stored := _current(measurement, profile, path, repair=False)) is None:
        return None
    data, found = stored[0], stored[1]["provenance"]
    columns = {k: found[k] for k in ("device", "device_name", "commit", "dirty")}
    columns |= {k: found["versions"][k] for k in ("torch", "fedlib")}
    rows = read_csv_exactly(path, data)  # rows of runs tell their own
    return rows.assign(**{k: value for k, value in columns.items() if k not in rows})


def _current(
    measurement: Measurement, profile: str, path: Path, *, repair: bool
) -> tuple[bytes, dict[str, Any]] | None:
    """Whole rows of today's settings, with their details. repair: set a damaged file aside."""
    stored = _whole(path, repair=repair)
    return stored if stored and is_current(measurement, profile, path, stored[1]) else None


def settings_of(measurement: Measurement, profile: str) -> dict[str, Any]:
    """The settings of a measurement as its JSON file holds them."""
    if measurement.settings is None:
        return {}
    return {"settings": json.loads(to_json(measurement.settings(profile)))}


def details_beside(path: Path) -> dict[str, Any]:
    """Details of the rows stored at `path`; empty if none are."""
    stored = _whole(path, repair=False)
    return stored[1] if stored else {}


def is_current(measurement: Measurement, profile: str, path: Path, details: Mapping[str, Any]) -> bool:
    """Whether the details of the rows at `path` have the settings of today, or none; False with a warning."""
    now = settings_of(measurement, profile)
    if "settings" not in details or not now or details["settings"] == now["settings"]:
        return True
    warnings.warn(
        StaleRowsWarning(f"{path} was computed with other settings; left out, run {measurement.id} again"),
        stacklevel=3,
    )
    return False


def _device() -> "torch.device":
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _write(path: Path, rows: "pd.DataFrame", settings: dict[str, Any], seconds: float) -> None:
    data = rows.to_csv(index=False, lineterminator="\n").encode()
    about = {
        **provenance.environment(_device()),
        "finished": provenance.now(),
        "wall_seconds": round(seconds, 3),
    }
    vouching = {"sha256": _digest(data), **settings, "provenance": about}
    told = path.with_suffix(".json")
    with contextlib.suppress(CorruptFile):
        if before := _read(path):
            write_atomically(told, to_json({**vouching, "before": before[1]}))
    write_atomically(path, data)
    write_atomically(told, to_json(vouching))


def _whole(path: Path, *, repair: bool) -> tuple[bytes, dict[str, Any]] | None:
    """`_read` with a warning in place of its error. repair: set a damaged file aside."""
    try:
        return _read(path)
    except CorruptFile as damage:
        what = f"set aside as {set_aside(damage.path).name}, computed again" if repair else "left out"
        warnings.warn(StoreWarning(f"{damage}; {what}"), stacklevel=3)
        return None


def _read(path: Path) -> tuple[bytes, dict[str, Any]] | None:
    """The rows at `path` and the details that match them, None if there are none; CorruptFile if none match.

    A reader has no lock: where the JSON has changed meanwhile, both are read again.
    """
    told = path.with_suffix(".json")
    while (written := _bytes(told)) is not None:
        data, damaged = _bytes(path), told
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
            details = json.loads(written)
            both = (details.pop("before", details), details)
            vouching = {one["sha256"]: one for one in both if one["provenance"]}
            if data is not None and (found := vouching.get(_digest(data))):
                return data, found
            damaged = told if data is None else path
        if _bytes(told) == written:
            raise CorruptFile(damaged, "is damaged")
    return None


def _bytes(path: Path) -> bytes | None:
    """Content of a file, None without one; of one that cannot be read nothing."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError:
        return b""


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
