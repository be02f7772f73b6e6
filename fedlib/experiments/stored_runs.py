"""The runs of a store whatever grid they belong to: found by what they are, shown, deleted.

Tables and figures of a paper show the runs of its grid. A run with another method, data set or setting lies
in the same store, and is found here.
"""

import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fedlib.errors import UsageError
from fedlib.experiments import labels
from fedlib.experiments.artifact import Artifact
from fedlib.experiments.checkpoints import unfinished_groups
from fedlib.experiments.provenance import machine_and_code
from fedlib.experiments.results import columns_of, described, rows_to_show
from fedlib.experiments.store import FAILED, FINISHED, Store, StoredRun
from fedlib.run import Run

if TYPE_CHECKING:
    import pandas as pd


def find_runs(store: Store, ids: Iterable[str] = (), **wanted: Collection[Any]) -> list[StoredRun]:
    """Done runs, by artifact and time of computing; ids: `paper/artifact` or papers, none means all.

    wanted: fields of the run and the values that each may have (`method=["fedavg"]`).
    """
    found = [stored for place in places(store, list(ids)) for stored in store.scan(place)]
    return [s for s in found if all(getattr(s.run, field) in values for field, values in wanted.items())]


def places(store: Store, ids: Sequence[str] = ()) -> list[str]:
    """Artifacts that have a folder in the store."""
    folders = sorted(path for path in store.root.glob("*/*") if path.is_dir())
    known = [f"{path.parent.name}/{path.name}" for path in folders]
    return [name for name in known if not ids or name in ids or name.split("/")[0] in ids]


def rows_of(runs: Iterable[StoredRun]) -> "pd.DataFrame":
    """Rows of runs that did not fail, their descriptions in columns; empty without such runs."""
    import pandas as pd

    frames = [
        stored.rows().assign(source="store", **columns_of(stored.run, stored.provenance))
        for stored in runs
        if stored.status != FAILED
    ]
    frames = [frame for frame in frames if len(frame)]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def rows_as_far_as_run(runs: Iterable[Run], store: Store) -> "pd.DataFrame":
    """Rows of these descriptions whatever their seeds, of finished runs and of what checkpoints hold.

    Machine and code are those of the runs. Without runs the frame is empty.
    """
    import pandas as pd

    frames = []
    for run in runs:
        found = {
            stored.run.seed: (stored.rows(), stored.run, stored.provenance["segments"])
            for stored in store.scan(run.id)
            if stored.run.group_key == run.group_key
        }
        for folder in unfinished_groups(store, run.id, run.group_key):
            if (saved := folder.load(repair=False)) is None:
                continue
            for member, rows in zip(folder.runs, saved.rows, strict=True):
                if member.group_key == run.group_key:
                    found.setdefault(member.seed, (pd.DataFrame(rows), member, saved.segments))
        frames += [
            rows.assign(**described(member), **machine_and_code(segments))
            for rows, member, segments in found.values()
        ]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def rows_beside_grid(
    artifact: Artifact, profile: str, store: Store, **wanted: Collection[Any]
) -> "pd.DataFrame":
    """Rows of an artifact's grid, and of the store's other runs of its name; wanted: as in `find_runs`.

    Runs of one name have in the column `settings` what tells them apart. Failed runs are left out, but for
    those of the grid where the artifact counts them.
    """
    import pandas as pd

    found = find_runs(store, [artifact.id], profile=[profile], **wanted)
    own, grid = rows_of(found), rows_to_show(artifact, profile=profile, store=store)
    for field, values in wanted.items():
        grid = grid[grid[field].isin(values)]
    grid = grid[~grid["run"].isin(own["run"])] if len(own) else grid
    frames = [frame for frame in (own, grid) if len(frame)]
    if not frames:
        return grid
    rows = pd.concat(frames, ignore_index=True)
    return with_settings(rows, [*(stored.run for stored in found), *artifact.runs(profile)])


def with_settings(rows: "pd.DataFrame", runs: Iterable[Run]) -> "pd.DataFrame":
    """The rows with the column `settings`: what tells runs of one name and cell apart."""
    told = labels.distinctions((run for run in runs if run.group_key in set(rows["group"])), of_cell=False)
    return rows.assign(settings=rows["group"].map(told).fillna(""))


def overview(runs: Sequence[StoredRun]) -> list[Mapping[str, str]]:
    """Summarise stored runs, a line a description: settings that tell it, seeds, accuracy, failures."""
    told = labels.distinctions(stored.run for stored in runs)
    return [_line(members, told) for members in by_description(runs)]


def by_description(runs: Iterable[StoredRun]) -> list[list[StoredRun]]:
    """Stored runs grouped by description, seeds together."""
    groups: dict[str, list[StoredRun]] = {}
    for stored in runs:
        groups.setdefault(stored.run.group_key, []).append(stored)
    return list(groups.values())


def _line(members: Sequence[StoredRun], told: Mapping[str, str]) -> Mapping[str, str]:
    run = members[0].run
    finished = [member for member in members if member.status != FAILED]
    accuracy = [100 * m.final["test_accuracy"] for m in finished if "test_accuracy" in m.final]
    failed = len(members) - len(finished)
    status = [f"{sum(accuracy) / len(accuracy):.1f} %" if accuracy else FINISHED] * bool(finished)
    return {
        "artifact": run.id,
        "profile": run.profile,
        "cell": f"{run.dataset} {run.partition} N={run.num_clients}",
        "method": f"{run.method_label}{told[run.group_key]}",
        "rounds": str(run.rounds),
        "seeds": ",".join(str(m.run.seed) for m in sorted(members, key=lambda m: m.run.seed)),
        "accuracy": ", ".join(status + [f"{failed} of {len(members)} {FAILED}"] * bool(failed)),
    }


def delete(store: Store, runs: Iterable[StoredRun]) -> int:
    """Delete runs from the store; returns how many. UsageError if another process is at work on one."""
    count = 0
    for stored in runs:
        lock = store.try_lock(stored.run)
        if lock is None:
            raise UsageError(f"{stored.run.label()} is being computed; {count} runs were deleted before it")
        with lock:
            store.forget(stored.run)
            shutil.rmtree(stored.folder, ignore_errors=True)
        count += 1
    return count
