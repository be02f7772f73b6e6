"""States of submitted groups of runs, as the store has them now; imports no torch."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fedlib.errors import EXIT_BUDGET, EXIT_FAILED, check
from fedlib.experiments import labels
from fedlib.experiments.result_files import current_run
from fedlib.experiments.store import FAILED, Store, StoreWarning
from fedlib.files import read_json
from fedlib.run import Run

RECORD = "submission.json"


@dataclass(frozen=True)
class TaskState:
    """A group of a submission: runs that are stored, failed and missing, and the files of its jobs' logs."""

    label: str
    stored: int
    failed: int
    missing: int
    logs: tuple[Path, ...]


def task_states(store: Store) -> list[TaskState]:
    """The groups of all submissions of a store, each once, as the store has them now."""
    states: dict[str, TaskState] = {}
    records = [path for path in (store.root / "jobs").glob(f"*/{RECORD}") if path.parent.name.isdigit()]
    for record in sorted(records, key=lambda path: int(path.parent.name)):
        logs = tuple(sorted(record.parent.glob("*_log.err")))
        groups = _groups_of(record)
        told = labels.distinctions(run for runs in groups for run in runs)
        for runs in groups:
            found = [store.get(run) for run in runs]
            failed = sum(one is not None and one.status == FAILED for one in found)
            missing = found.count(None)
            state = TaskState(labels.group_label(runs, told), len(runs) - missing, failed, missing, logs)
            states[" ".join(run.key for run in runs)] = state
    return list(states.values())


def _groups_of(record: Path) -> list[list[Run]]:
    """The groups of a submission; those with fields of another version are left out, with a warning."""
    found = read_json(record, "groups")["groups"]
    whole = isinstance(found, list) and all(isinstance(group, list) for group in found)
    check(whole, f"{record} is damaged (no groups of runs); restore it or delete it")
    groups = [[current_run(one) for one in group] for group in found]
    known = [[run for run in runs if run is not None] for runs in groups if None not in runs]
    if len(known) < len(groups):
        count = f"{len(groups) - len(known)} of {len(groups)} groups"
        warnings.warn(
            StoreWarning(f"{record}: {count} have fields of another version; left out"), stacklevel=3
        )
    return known


def exit_status(states: Sequence[TaskState]) -> int:
    """0: all is stored; 1: a run failed; 3: runs are missing, `submit` goes on with them."""
    if any(state.missing for state in states):
        return EXIT_BUDGET
    return EXIT_FAILED if any(state.failed for state in states) else 0
