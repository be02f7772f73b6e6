"""Runs as jobs of a cluster: one task per group of missing runs, the shared store as meeting point.

Jobs go through submitit (an extra, `pip install submitit`), whose executors are `slurm` and `local`
(processes of this machine). Before its time limit, or when it is pre-empted, a job is queued again and
resumes from the group's checkpoint; a job that was killed leaves its group to the next `submit`.

    <store>/jobs/<submission>/submission.json    executor, jobs and the runs of each
                              <job>_*_log.out    what the job printed, and .err
"""

import contextlib
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedlib.errors import UsageError, check, check_name, shortened
from fedlib.experiments import provenance, selection
from fedlib.experiments.runner import run_runs
from fedlib.experiments.store import FAILED, Store, to_json
from fedlib.experiments.submissions import RECORD
from fedlib.files import telling, write_atomically
from fedlib.run import Run, from_description

EXECUTORS = ("slurm", "local")
_WARN_SECONDS = 90  # before the time limit: more than a round and a checkpoint of any artifact take


@dataclass(frozen=True)
class GroupJob:
    """A cluster task: groups of runs in this order, without those that another process holds."""

    groups: list[list[dict[str, Any]]]  # descriptions
    store: str
    options: Mapping[str, Any]  # of `run_runs`

    def __call__(self) -> int:
        """The number of runs computed."""
        members = [[from_description(one) for one in group] for group in self.groups]
        return sum(run_runs(runs, store=self.store, wait=False, **self.options).computed for runs in members)

    def checkpoint(self) -> Any:
        """Submit the job again: the store has its checkpoints."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


def _failed(store: Store, run: Run) -> bool:
    found = store.get(run)
    return found is not None and found.status == FAILED


def missing_groups(runs: Sequence[Run], store: Store, *, retry_failed: bool = False) -> list[list[Run]]:
    """Groups that train as replicas and are not complete, with all their members.

    retry_failed: a run that failed is missing too.
    """

    def done(run: Run) -> bool:
        return store.has(run) and not (retry_failed and _failed(store, run))

    return [members for members in selection.group(runs) if not all(map(done, members))]


def submit(
    runs: Sequence[Run],
    store: Store,
    *,
    executor: str,
    array: int,
    minutes: int = 60,
    parameters: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> list[Any]:
    """Submit the missing groups of runs; returns submitit's jobs, [] where nothing is missing.

    array: the most tasks at a time. On `local` there are so many processes (`shares_of`), each of which
    works through all groups that no other holds. minutes: a task's time limit. parameters: further ones of
    the executor, in submitit's names (`slurm_partition`). options: of `run_runs`.
    """
    check_name("executor", executor, EXECUTORS)
    check(array >= 1, f"array={array} given; allowed: 1 or more tasks at a time")
    check(minutes >= 1, f"minutes={minutes} given; allowed: 1 or more")
    if importlib.util.find_spec("submitit") is None:
        raise UsageError("submit needs submitit, which is not installed; pip install submitit")
    import submitit

    options = dict(options or {})
    retries = options.get("retry_failed", False)
    groups = missing_groups(runs, store, retry_failed=retries)
    if not groups:
        return []
    folder = _new_folder(store)
    try:
        auto = submitit.AutoExecutor(folder=folder, cluster=executor)
        auto.update_parameters(timeout_min=minutes, **_own_parameters(executor, array), **(parameters or {}))
    except (RuntimeError, NameError, TypeError) as error:  # no Slurm here; a parameter that submitit lacks
        folder.rmdir()
        told = " ".join(str(error).split())
        raise UsageError(f"executor {executor!r} cannot be used: {shortened(told, 200)}") from error
    described = [[run.describe() for run in members] for members in groups]
    shares = shares_of(described, array, retries=retries) if executor == "local" else [[g] for g in described]
    with auto.batch():
        jobs = [auto.submit(GroupJob(share, str(store.root), options)) for share in shares]
    record = {
        "executor": executor,
        "submitted": provenance.now(),
        "code": provenance.code(),
        "jobs": [job.job_id for job in jobs],
        "groups": described,
    }
    write_atomically(folder / RECORD, to_json(record))
    return jobs


def shares_of(groups: Sequence[Any], processes: int, *, retries: bool) -> list[list[Any]]:
    """The groups for each of at most so many processes: all, each from another one on.

    retries: every group for one process alone, since failed runs would be computed by each.
    """
    count = min(processes, len(groups))
    if retries:
        return [list(groups[i::count]) for i in range(count)]
    return [[*groups[i:], *groups[:i]] for i in range(count)]


def _own_parameters(executor: str, array: int) -> dict[str, Any]:
    if executor == "local":
        return {}
    return {"slurm_array_parallelism": array, "slurm_signal_delay_s": _WARN_SECONDS}


def _new_folder(store: Store) -> Path:
    """The folder of a new submission, numbered from 1; WriteError where none can be made."""
    jobs = store.root / "jobs"
    with telling(jobs):
        jobs.mkdir(parents=True, exist_ok=True)
        number = 1 + max((int(path.name) for path in jobs.iterdir() if path.name.isdigit()), default=0)
        while True:
            with contextlib.suppress(FileExistsError):  # another submission took this number meanwhile
                (jobs / str(number)).mkdir()
                return jobs / str(number)
            number += 1
