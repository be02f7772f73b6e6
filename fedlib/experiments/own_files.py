"""Files that a user supplies to a run: modules, as `package.module:name`, data sets, as `.npz`, divisions.

They lie outside fedlib's commit and source digest, so a run stores theirs: another rule, other images or
another division under an old name give no further seeds of the old runs.
"""

import hashlib
import importlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fedlib.data import is_own, load_dataset
from fedlib.errors import check
from fedlib.experiments.checkpoints import unfinished_groups
from fedlib.experiments.store import Store
from fedlib.partition import partition_file
from fedlib.run import Run


def own_files(run: Run) -> dict[str, str]:
    """Map each own name of a run to 16 hex digits: of its module's or division's file, or its set's arrays.

    A module without a file, as a notebook's, is left out, and so are what a module imports and a division's
    file that is gone.
    """
    found = {}
    for name in (run.method, run.partition, run.model):
        if ":" in name and (path := importlib.import_module(name.partition(":")[0]).__dict__.get("__file__")):
            found[name] = _digest(Path(path))
    if run.partition == "from_file":
        given = run.partition_options["path"]
        if (divided := partition_file(given)).is_file():
            found[f"partition.path={given}"] = _digest(divided)
    if is_own(run.dataset):
        found[run.dataset] = load_dataset(run.dataset).checksum[:16]
    return found


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def refuse_other_files(store: Store, runs: Sequence[Run]) -> None:
    """UsageError if an own file of these runs has changed since it was last run.

    Held to every stored run of the same artifacts, which tables show together, and to begun ones.
    """
    now: dict[str, dict[str, str]] = {}
    for run in {run.group_key: run for run in runs}.values():
        now.setdefault(run.id, {}).update(own_files(run))
    for artifact_id, own in now.items():
        keys = {run.group_key for run in runs if run.id == artifact_id}
        for run, before, begun in _of_stored(store, artifact_id, keys) if own else ():
            changed = [name for name, digest in own.items() if before.get(name, digest) != digest]
            stored = f"what was computed (`python -m fedlib results {artifact_id} --delete` and its filters)"
            done = "begun" if begun else "computed"
            check(
                not changed,
                f"{', '.join(changed)} has changed since {run.label()} was {done}: these would be no seeds "
                "of one experiment; allowed: the file as it was, another name, another --store, or deleting "
                f"{begun or stored}",
            )


def _of_stored(
    store: Store, artifact_id: str, group_keys: set[str]
) -> Iterator[tuple[Run, Mapping[str, str], Path | None]]:
    """Stored runs of an artifact, and begun ones of these descriptions, with their own names' digests.

    Third, the folder of a begun group; None for a stored run.
    """
    for stored in store.scan(artifact_id):
        data = {stored.run.dataset: stored.provenance["dataset"]["checksum"][:16]}
        yield stored.run, data | stored.provenance.get("own", {}), None
    for folder in unfinished_groups(store, artifact_id, *group_keys):
        yield folder.runs[0], folder.own_files(), folder.path
