"""Rows of an artifact as one tidy data frame, from the store and from the committed results.

Only runs of the artifact's present grid count, whatever their seeds: rows of an experiment with `--set` never
slip into a table.
"""

import functools
import json
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedlib.errors import UsageError, check, check_name
from fedlib.experiments.artifact import PROFILES, Artifact, Measurement
from fedlib.experiments.measurements import details_beside, is_current, load_measurement, measurement_path
from fedlib.experiments.provenance import of_finished_run
from fedlib.experiments.result_files import (
    changing_results,
    committed_runs,
    current_run,
    is_lost,
    read_details,
    read_rows,
    results_file,
    write_rows,
)
from fedlib.experiments.selection import expand
from fedlib.experiments.store import FINISHED, StaleRowsWarning, Store, StoreWarning, plain
from fedlib.run import Run
from fedlib.words import counted

if TYPE_CHECKING:
    import pandas as pd

_SORTED_BY = ("dataset", "partition", "partition_options", "num_clients", "method", "method_options", "run")
_OPTIONS = ("dataset", "partition", "method", "model", "local_optimizer")
_FILE_OF = ("paper", "artifact", "profile")


def columns_of(run: Run, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Columns that describe a finished run in each of its rows."""
    dataset = provenance["dataset"]
    return {
        **described(run),
        "dataset_origin": dataset["origin"],
        "dataset_checksum": dataset["checksum"],
        "stand_in": dataset["stand_in"],
        **of_finished_run(provenance),
    }


def described(run: Run) -> dict[str, Any]:
    """Columns of a run's own fields and keys; options as JSON text."""
    options = {
        f"{name}_options": json.dumps(getattr(run, f"{name}_options"), sort_keys=True) for name in _OPTIONS
    }
    fields = {k: v for k, v in run.describe().items() if k not in options}
    return {**fields, **options, "run": run.key, "group": run.group_key}


def load_rows(
    artifact: Artifact, *, profile: str, store: Store | Path | str | None = None, source: str = "all"
) -> "pd.DataFrame":
    """All rows of an artifact at a profile: one row per run and evaluated round, provenance in columns.

    source: `store`, `results` (the committed ones) or `all`; a run that is in both is taken from the
    store. The column `source` says which. Rows of failed runs are included, their column `status`
    says so. Empty, with the identifying columns, if nothing is stored. Rows of a measurement are those
    stored; an artifact with `compute` is computed on the spot.
    """
    import pandas as pd

    check_name("profile", profile, PROFILES)
    check_name("source", source, ("all", "store", "results"))
    if profile not in artifact.profiles:
        return _no_rows()
    store = store if isinstance(store, Store) else Store(store)
    if artifact.compute is not None:
        return _identified(artifact.compute(profile).assign(source="computed"), artifact, profile)
    if artifact.measurement is not None:
        rows = _measured(artifact.measurement, profile, store, source)
        for column, value in artifact.where.items():
            rows = rows[rows[column] == value] if len(rows) else rows
        return _identified(rows.reset_index(drop=True), artifact, profile)
    frames = []
    for place, wanted in group_keys(artifact.runs(profile)).items():
        own = [] if source == "results" else _from_store(place, wanted, store)
        known = {frame["run"].iloc[0] for frame in own}
        if source != "store":
            _warn_if_lost(artifact, place, profile, known)
            own += _from_results(place, profile, wanted, known, complete=place == artifact.id)
        frames += own
    frames = [frame for frame in frames if len(frame)]
    if not frames:
        return _no_rows()
    rows = pd.concat(frames, ignore_index=True)
    return rows.sort_values([*_SORTED_BY, "round"], kind="stable", ignore_index=True)


def _warn_if_lost(artifact: Artifact, place: str, profile: str, known: set[str]) -> None:
    """Say how many runs of the grid, but for those known, are filed in a committed file that is gone."""
    path = results_file(place, profile)
    if not is_lost(path):
        return
    absent = sum(run.id == place and run.key not in known for run in expand(artifact, profile))
    if absent:
        lost = f"{counted(absent, 'run')} of {artifact.id} at {profile} {'are' if absent > 1 else 'is'} filed"
        told = f"{path} is missing, where {lost}; restore it with `git checkout`"
        warnings.warn(StoreWarning(told), stacklevel=3)


def _no_rows() -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(columns=[*_FILE_OF, *_SORTED_BY, "seed", "round", "test_accuracy", "source"])


def group_keys(runs: Iterable[Run]) -> dict[str, set[str]]:
    """Map `Run.id` to group keys; artifacts that show the same runs share them."""
    keys: dict[str, set[str]] = {}
    for run in runs:
        keys.setdefault(run.id, set()).add(run.group_key)
    return keys


def finished_rows(rows: "pd.DataFrame") -> "pd.DataFrame":
    """Without the runs that failed."""
    if rows.empty or "status" not in rows or "run" not in rows or (rows["status"] == "ok").all():
        return rows
    finished = rows.groupby("run")["status"].transform("last") == "ok"
    return rows if finished.all() else rows[finished]


def rows_to_show(
    artifact: Artifact, *, profile: str, store: Store | Path | str | None = None, source: str = "all"
) -> "pd.DataFrame":
    """`load_rows` without failed runs, unless the artifact counts them, and without rows it does not keep."""
    rows = load_rows(artifact, profile=profile, store=store, source=source)
    rows = rows if artifact.counts_failed else finished_rows(rows)
    return artifact.keep(rows) if artifact.keep and len(rows) else rows


def _measured(measurement: Measurement, profile: str, store: Store, source: str) -> "pd.DataFrame":
    """The stored or committed rows of a measurement."""
    path = results_file(measurement.id, profile)
    rows = None if source == "results" else load_measurement(measurement, profile, store)
    if rows is not None:
        return rows.assign(source="store")
    if source != "store" and path.is_file() and is_current(measurement, profile, path, read_details(path)):
        return read_rows(path).assign(source="results")
    return _no_rows()


def _identified(rows: "pd.DataFrame", artifact: Artifact, profile: str) -> "pd.DataFrame":
    return rows.assign(paper=artifact.paper, artifact=artifact.name, profile=profile)


def _from_store(place: str, wanted: set[str], store: Store) -> list["pd.DataFrame"]:
    frames = []
    for stored in store.scan(place):
        if stored.run.group_key in wanted:
            rows = stored.rows().assign(source="store", **columns_of(stored.run, stored.provenance))
            rows["seconds"] = rows["round"].map(round_seconds(stored.provenance))
            frames += [rows] if len(rows) else []
    return frames


def round_seconds(provenance: Mapping[str, Any]) -> dict[int, float]:
    """Wall time of each round, for the whole group of replicas that was trained together."""
    found = {}
    for segment in provenance.get("segments", ()):
        found.update({int(r): s for r, s in segment.get("round_seconds", {}).items()})
    return found


def _from_results(
    place: str, profile: str, wanted: set[str], known: set[str], *, complete: bool
) -> list["pd.DataFrame"]:
    """Committed rows of these group keys that are not known yet; complete: others are out of date."""
    import pandas as pd

    path = results_file(place, profile)
    if not path.is_file():
        return []
    rows = read_rows(path)
    # Keys are made again from the descriptions, so that a new field with a default orphans no old result.
    described = {key: current_run(item["description"]) for key, item in read_details(path)["runs"].items()}
    current = {key: run for key, run in described.items() if run is not None and run.group_key in wanted}
    stale = len(set(rows["run"].unique()) - set(current))
    if stale and complete:
        warnings.warn(
            StaleRowsWarning(f"{path}: {stale} runs are not in the present grid; left out"), stacklevel=3
        )
    keys = {key: run.key for key, run in current.items() if run.key not in known}
    groups = {key: current[key].group_key for key in keys}
    wanted_rows = rows["run"].isin(list(keys))
    rows = rows if wanted_rows.all() else rows[wanted_rows]
    numbers, runs = pd.factorize(rows["run"])
    own, group = (pd.Series([of[run] for run in runs], dtype="str").take(numbers) for of in (keys, groups))
    return [rows.assign(run=own.array, group=group.array, source="results")]


def export_results(
    artifact: Artifact, profile: str, *, store: Store | Path | str | None = None, every: int = 1
) -> Path:
    """Write an artifact's stored rows to the committed results; returns the file's path.

    Runs that are committed but not in the store stay. every: keep evaluated rounds that are
    multiples of it, and the last of each run. Smoke rows are refused, and rows that are filed under
    another artifact.
    """
    check(every >= 1, f"every={every} given; allowed: 1 or more")
    if profile == "smoke":
        raise UsageError(
            "profile 'smoke' given; allowed for export: reduced, extended, paper (smoke rows show no result)"
        )
    store = store if isinstance(store, Store) else Store(store)
    keys = _own_keys(artifact, profile)
    # others' runs filed here may have more profiles than it
    filed = replace(artifact, profiles=(profile,), seeds={profile: 1, **artifact.seeds})
    stored = load_rows(filed, profile=profile, store=store, source="store")
    if not (stored["artifact"] == artifact.name).any():
        raise UsageError(_why_nothing(artifact.id, profile, store, keys))
    with changing_results():
        rows = load_rows(filed, profile=profile, store=store)
        rows = rows[rows["artifact"] == artifact.name]
        details = {"artifact": artifact.id, "profile": profile, "runs": {}}
        if "run" in rows:
            rows = _thin(rows, every)
            details["runs"] = _details(artifact.id, profile, store, keys)
        details |= _measurement_details(artifact.measurement, profile, store)
        path = results_file(artifact.id, profile)
        return write_rows(path, rows.drop(columns="source").reset_index(drop=True), plain(details))


def _why_nothing(place: str, profile: str, store: Store, wanted: set[str]) -> str:
    """Why there is nothing to export: no run is stored, or none with the artifact's own settings."""
    nothing = f"nothing stored for {place} at profile {profile!r}"
    found = [stored.run for stored in store.scan(place) if stored.run.profile == profile]
    beside = sum(run.group_key not in wanted for run in found)
    if not beside:
        return f"{nothing}; run it first"
    others = f"{counted(beside, 'run')} with other settings (a method, data or --set of your own)"
    read = f"fedlib.load_results({place!r}, {profile!r}, store={str(store.root)!r})"
    return f"{nothing} with its own settings; {others} cannot be exported, {read} reads the finished ones"


def _own_keys(artifact: Artifact, profile: str) -> set[str]:
    """Group keys of the runs filed under this artifact; UsageError if its rows are filed elsewhere only."""
    keys = group_keys(artifact.runs(profile))
    places = set(keys) or {artifact.measurement.id if artifact.measurement else artifact.id}
    if artifact.id not in places:
        raise UsageError(
            f"the rows of {artifact.id} are filed under {', '.join(sorted(places))}; export that"
        )
    return keys.get(artifact.id, set())


def _measurement_details(measurement: Measurement | None, profile: str, store: Store) -> dict[str, Any]:
    """Settings and provenance of a measurement's rows; those committed before keep theirs."""
    if measurement is None:
        return {}
    details = details_beside(measurement_path(measurement, profile, store))
    details = details or read_details(results_file(measurement.id, profile))
    return {name: details[name] for name in ("settings", "provenance") if name in details}


def _thin(rows: "pd.DataFrame", every: int) -> "pd.DataFrame":
    """Of the store's rows every so many rounds and the last; those committed before as they are."""
    last = rows.groupby("run")["round"].transform("max")
    committed = rows["source"] != "store"
    return rows[committed | (rows["round"] % every == 0) | (rows["round"] == last)]


def _details(place: str, profile: str, store: Store, wanted: set[str]) -> dict[str, Any]:
    """Description and provenance of every run, those of the store over those committed before."""
    details = {}
    for item in read_details(results_file(place, profile)).get("runs", {}).values():
        run = current_run(item["description"])
        if run is not None and run.group_key in wanted:
            details[run.key] = {**item, "description": run.describe()}
    for stored in store.scan(place):
        if stored.run.group_key in wanted:
            details[stored.run.key] = {
                "description": stored.run.describe(),
                "status": stored.status,
                "reason": stored.reason,
                "provenance": _without_round_seconds(stored.provenance),
            }
    return details


def _without_round_seconds(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """The rows hold them already, in the column `seconds`."""
    segments = [{k: v for k, v in s.items() if k != "round_seconds"} for s in provenance.get("segments", ())]
    return {**provenance, "segments": segments}


def _has_results(artifact: Artifact, profile: str, keys: Mapping[str, Collection[str]]) -> bool:
    """Whether committed rows are the artifact's own: a file of runs holds those of several artifacts."""
    if artifact.measurement:
        return results_file(artifact.measurement.id, profile).is_file()
    known = {place: _committed_groups(place, profile, _changed(place, profile)) for place in keys}
    return any(not own.isdisjoint(keys[place]) for place, own in known.items())


@functools.cache
def _committed_groups(place: str, profile: str, _changed: int) -> set[str]:
    return {run.group_key for run, _ in committed_runs(place, profile)}


def _changed(place: str, profile: str) -> int:
    """When the file of committed rows last changed; 0 without one."""
    path = results_file(place, profile)
    return path.stat().st_mtime_ns if path.is_file() else 0


def stored_counts(
    artifact: Artifact, store: Store, scans: dict[str, Counter[str]] | None = None
) -> dict[str, str]:
    """Finished runs of the grid per profile, e.g. `9 runs + results`; profiles with none are left out.

    scans: place -> its finished runs by group key, filled here, which calls for several artifacts share.
    """
    found, scans = {}, {} if scans is None else scans
    wanted = {profile: group_keys(artifact.runs(profile)) for profile in artifact.profiles}
    for place in sorted({place for keys in wanted.values() for place in keys} - scans.keys()):
        stored = [one for one in store.scan(place) if one.status == FINISHED]  # reads every file of it
        scans[place] = Counter(one.run.group_key for one in stored)
    for profile, keys in wanted.items():
        count = sum(scans[place][key] for place, own in keys.items() for key in own)
        parts = [counted(count, "run")] if count else []
        if artifact.measurement and measurement_path(artifact.measurement, profile, store).is_file():
            parts += ["rows"]
        if _has_results(artifact, profile, keys):
            parts += ["results"]
        if parts:
            found[profile] = " + ".join(parts)
    return found
