"""Rows of an artifact as one tidy data frame, from the store and from the committed results.

`data/results/<paper>/<artifact>-<profile>.csv` (`.csv.gz` from 1 MB on, which pandas reads as it is)
holds committed rows, and the `.json` beside it the full description and provenance of every run in
them. Only runs of the artifact's present grid count, whatever their seeds: rows of an experiment
with `--set` never slip into a table.
"""

import gzip
import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedlib.errors import UsageError, check_name
from fedlib.kept import is_current, kept_path, load_kept
from fedlib.papers import PROFILES, Artifact, find_artifact
from fedlib.run import Run, from_description
from fedlib.store import (
    FINISHED,
    Store,
    StoreWarning,
    project_root,
    read_csv_exactly,
    to_json,
    write_atomically,
)

if TYPE_CHECKING:
    import pandas as pd

_SORTED_BY = ("dataset", "partition", "partition_options", "num_clients", "method", "method_options", "run")
_OPTIONS = ("dataset", "partition", "method", "model", "local_optimizer")
_PACKED_FROM_BYTES = 1_000_000
_FILE_OF = ("paper", "artifact", "profile")


def results_folder() -> Path:
    """Where committed rows lie."""
    return project_root() / "data" / "results"


def results_file(artifact_id: str, profile: str, folder: Path | None = None) -> Path:
    """The file of committed rows: the compressed one where there is one."""
    plain = (folder or results_folder()) / f"{artifact_id}-{profile}.csv"
    packed = plain.with_name(f"{plain.name}.gz")
    return packed if packed.is_file() else plain


def _details_file(rows_file: Path) -> Path:
    return rows_file.with_name(rows_file.name.removesuffix(".gz")).with_suffix(".json")


def _write_rows(plain: Path, data: bytes) -> Path:
    """Write a CSV file, compressed if it is large; the same rows give the same bytes."""
    packed = plain.with_name(f"{plain.name}.gz")
    path, other = (packed, plain) if len(data) >= _PACKED_FROM_BYTES else (plain, packed)
    write_atomically(path, gzip.compress(data, mtime=0) if path is packed else data)
    other.unlink(missing_ok=True)
    return path


def columns_of(run: Run, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """What every row of a run says about itself; options as JSON text."""
    dataset = provenance["dataset"]
    options = {
        f"{name}_options": json.dumps(getattr(run, f"{name}_options"), sort_keys=True) for name in _OPTIONS
    }
    described = {k: v for k, v in run.describe().items() if k not in options}
    return {
        **described,
        **options,
        "run": run.key,
        "group": run.group_key,
        "dataset_origin": dataset["origin"],
        "dataset_checksum": dataset["checksum"],
        "stand_in": dataset["stand_in"],
        "device": provenance["device"],
        "device_name": provenance["device_name"],
        "torch": provenance["versions"]["torch"],
        "fedlib": provenance["versions"]["fedlib"],
        "commit": provenance["commit"],
        "dirty": provenance["dirty"],
    }


def load_rows(
    artifact_id: str, *, profile: str, store: Store | Path | str | None = None, source: str = "all"
) -> "pd.DataFrame":
    """All rows of an artifact at a profile: one row per run and evaluated round, provenance in columns.

    source: `store`, `results` (the committed ones) or `all`; a run that is in both is taken from the
    store. The column `source` says which. Rows of failed runs are included, their column `status`
    says so. Empty, with the identifying columns, if nothing is stored. An artifact without training
    is computed on the spot, unless its rows are kept (`Artifact.keep`); one that borrows has its lender's
    rows (`Artifact.lender`).
    """
    import pandas as pd

    check_name("profile", profile, PROFILES)
    check_name("source", source, ("all", "store", "results"))
    artifact = find_artifact(artifact_id)
    if artifact.lender:
        rows = load_rows(artifact.lender, profile=profile, store=store, source=source)
        return _identified(_picked(rows, artifact.lent), artifact, profile)
    if artifact.compute is not None:
        return _identified(_computed(artifact, profile, store, source), artifact, profile)
    frames = []
    for owner, wanted in _owners(artifact, profile).items():
        own = [] if source == "results" else _from_store(owner, wanted, store)
        known = {frame["run"].iloc[0] for frame in own}
        frames += own if source == "store" else own + _from_results(owner, profile, wanted, known)
    frames = [frame for frame in frames if len(frame)]
    if not frames:
        return _no_rows()
    rows = pd.concat(frames, ignore_index=True)
    return rows.sort_values([*_SORTED_BY, "round"], kind="stable", ignore_index=True)


def _picked(rows: "pd.DataFrame", wanted: Mapping[str, str]) -> "pd.DataFrame":
    for column, value in wanted.items():
        rows = rows[rows[column] == value]
    return rows.reset_index(drop=True)


def _no_rows() -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(columns=[*_FILE_OF, *_SORTED_BY, "seed", "round", "test_accuracy", "source"])


def _owners(artifact: Artifact, profile: str) -> dict[str, set[str]]:
    """Who owns the runs of this artifact -> their group keys; a figure may be drawn from a table's runs."""
    owners: dict[str, set[str]] = {}
    for run in artifact.runs(profile):
        owners.setdefault(run.id, set()).add(run.group_key)
    return owners


def finished_rows(rows: "pd.DataFrame") -> "pd.DataFrame":
    """Without the runs that failed."""
    if rows.empty or "status" not in rows or "run" not in rows:
        return rows
    return rows[rows.groupby("run")["status"].transform("last") == "ok"]


def _computed(
    artifact: Artifact, profile: str, store: Store | Path | str | None, source: str
) -> "pd.DataFrame":
    """Rows of an artifact without training: computed now, or as they were kept."""
    if not artifact.keep:
        return artifact.compute(profile).assign(source="computed")
    path = results_file(artifact.id, profile)
    store = store if isinstance(store, Store) else Store(store)
    rows = None if source == "results" else load_kept(artifact, profile, store)
    if rows is not None:
        return rows.assign(source="store")
    if source != "store" and path.is_file() and is_current(artifact, profile, _details_file(path)):
        return read_csv_exactly(path).assign(source="results")
    return _no_rows()


def _identified(rows: "pd.DataFrame", artifact: Artifact, profile: str) -> "pd.DataFrame":
    return rows.assign(paper=artifact.paper, artifact=artifact.id.split("/")[1], profile=profile)


def _from_store(artifact_id: str, wanted: set[str], store: Store | Path | str | None) -> list["pd.DataFrame"]:
    store = store if isinstance(store, Store) else Store(store)
    frames = []
    for stored in store.scan(artifact_id):
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


def _from_results(artifact_id: str, profile: str, wanted: set[str], known: set[str]) -> list["pd.DataFrame"]:
    path = results_file(artifact_id, profile)
    if not path.is_file():
        return []
    rows = read_csv_exactly(path).assign(source="results")
    # Keys are made again from the descriptions, so that a new field with a default orphans no old result.
    current = {key: _current_run(item["description"]) for key, item in _read_details(path).items()}
    frames, stale = [], 0
    grid = {run.group_key for run in find_artifact(artifact_id).runs(profile)}
    for key, part in rows.groupby("run"):
        run = current.get(key)
        if run is None or run.group_key not in grid:
            stale += 1
        elif run.group_key in wanted and run.key not in known:
            frames.append(part.assign(run=run.key, group=run.group_key))
    if stale:
        warnings.warn(
            StoreWarning(f"{path}: {stale} runs are not in the present grid; left out"), stacklevel=3
        )
    return frames


def _read_details(path: Path) -> dict[str, Any]:
    details = _details_file(path)
    try:
        return json.loads(details.read_text())["runs"]
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"{details} cannot be read ({error}); it has to lie beside {path.name}") from error


def committed_runs(artifact_id: str, profile: str) -> Iterator[tuple[Run, dict[str, Any]]]:
    """The committed runs that can still be described, each with its provenance."""
    path = results_file(artifact_id, profile)
    for item in _read_details(path).values() if path.is_file() else ():
        run = _current_run(item["description"])
        if run is not None:
            yield run, item["provenance"]


def committed_provenance(artifact_id: str, profile: str) -> dict[str, Any] | None:
    """That of committed kept rows; None if there are none."""
    path = _details_file(results_file(artifact_id, profile))
    return json.loads(path.read_text()).get("provenance") if path.is_file() else None


def _current_run(description: Mapping[str, Any]) -> Run | None:
    try:
        return from_description(description)
    except TypeError:  # a field that no longer exists
        return None


def export_results(
    artifact_id: str,
    profile: str,
    *,
    store: Store | Path | str | None = None,
    every: int = 1,
    folder: Path | None = None,
) -> Path:
    """Write an artifact's stored rows to the committed results; returns the CSV's path.

    Runs that are committed but not in the store stay. every: keep evaluated rounds that are
    multiples of it, and the last of each run. Floats get 6 significant digits; smoke rows are refused.
    """
    if profile == "smoke":
        raise UsageError(
            "profile 'smoke' given; allowed for export: reduced, paper (smoke rows show no result)"
        )
    artifact = find_artifact(artifact_id)
    if artifact.lender:
        raise UsageError(f"the rows of {artifact_id} belong to {artifact.lender}; export that")
    owners = _owners(artifact, profile)
    if owners and artifact_id not in owners:
        raise UsageError(f"the runs of {artifact_id} belong to {', '.join(owners)}; export that")
    rows = load_rows(artifact_id, profile=profile, store=store)
    if owners:
        rows = rows[rows["artifact"] == artifact_id.split("/")[1]]
    if rows.empty:
        raise UsageError(f"nothing stored for {artifact_id} at profile {profile!r}; run it first")
    plain = (folder or results_folder()) / f"{artifact_id}-{profile}.csv"
    details = _details(artifact_id, profile, store) if "run" in rows else {}
    kept = _thin(rows, every) if "run" in rows else rows
    text = _whole_numbers(kept.drop(columns="source")).to_csv(
        index=False, float_format="%.6g", lineterminator="\n"
    )
    about = {"artifact": artifact_id, "profile": profile, "runs": details}
    about |= _kept_details(artifact, profile, store)
    write_atomically(plain.with_suffix(".json"), to_json(about))
    return _write_rows(plain, text.encode())


def _kept_details(artifact: Artifact, profile: str, store: Store | Path | str | None) -> dict[str, Any]:
    """Provenance of kept rows; those committed before keep theirs."""
    if not artifact.keep:
        return {}
    path = kept_path(artifact, profile, store if isinstance(store, Store) else Store(store))
    if not path.with_suffix(".json").is_file():
        path = _details_file(results_file(artifact.id, profile))
    about = json.loads(path.with_suffix(".json").read_text())
    return {name: about[name] for name in ("settings", "provenance") if name in about}


def _whole_numbers(rows: "pd.DataFrame") -> "pd.DataFrame":
    """Columns of whole numbers with gaps as integers: byte counts must not be cut to 6 digits."""
    whole = [c for c in rows.select_dtypes("float") if (rows[c].dropna() % 1 == 0).all()]
    return rows.astype(dict.fromkeys(whole, "Int64"))


def _thin(rows: "pd.DataFrame", every: int) -> "pd.DataFrame":
    last = rows.groupby("run")["round"].transform("max")
    return rows[(rows["round"] % every == 0) | (rows["round"] == last)]


def _details(artifact_id: str, profile: str, store: Store | Path | str | None) -> dict[str, Any]:
    """Description and provenance of every run, those of the store over those committed before."""
    wanted = _owners(find_artifact(artifact_id), profile).get(artifact_id, set())
    path, details = results_file(artifact_id, profile), {}
    if path.is_file():
        for item in _read_details(path).values():
            run = _current_run(item["description"])
            if run is not None and run.group_key in wanted:
                details[run.key] = {**item, "description": run.describe()}
    store = store if isinstance(store, Store) else Store(store)
    for stored in store.scan(artifact_id):
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


def stored_counts(artifact: Artifact, store: Store, profiles: Iterable[str] = PROFILES) -> dict[str, str]:
    """Finished runs of the grid per profile, e.g. `9 runs + results`; profiles with none are left out.

    Kept rows of another artifact say whose they are: `rows + results of frl/fig24`.
    """
    if artifact.lender:
        lent = stored_counts(find_artifact(artifact.lender), store, profiles)
        return {profile: f"{what} of {artifact.lender}" for profile, what in lent.items()}
    found = {}
    for profile in profiles:
        owners = _owners(artifact, profile)
        count = sum(
            stored.status == FINISHED and stored.run.group_key in keys
            for owner, keys in owners.items()
            for stored in store.scan(owner)
        )
        parts = [f"{count} runs"] if count else []
        if artifact.keep and kept_path(artifact, profile, store).is_file():
            parts += ["rows"]
        if any(results_file(owner, profile).is_file() for owner in owners or [artifact.id]):
            parts += ["results"]
        if parts:
            found[profile] = " + ".join(parts)
    return found
