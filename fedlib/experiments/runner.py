"""Runs a grid: skips what is stored, resumes what was interrupted, shares the work with other processes.

Runs that differ in their seed only form a group and train as replicas; on a GPU runs of FedAvg and
FedProx that share all shapes join them. A process claims runs by
their locks, without waiting; what another process is at work on is left for the end and then
waited for, so that two processes on one grid divide it between them.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from fedlib.engine.cuda_graphs import forget_captures
from fedlib.engine.hardware.device import current, first_line, is_out_of_memory
from fedlib.errors import EXIT_FAILED, MemoryShortage, UsageError, check
from fedlib.experiments import labels, selection
from fedlib.experiments.artifact import Artifact
from fedlib.experiments.budget import Budget
from fedlib.experiments.checkpoints import GroupFolder, unfinished_groups
from fedlib.experiments.group_training import CHECKPOINT_SECONDS, Context, train_group
from fedlib.experiments.measurements import compute_measurement
from fedlib.experiments.own_files import refuse_other_files
from fedlib.experiments.preflight import check_run_names
from fedlib.experiments.progress import Progress
from fedlib.experiments.store import FAILED, Store, StoredRun
from fedlib.experiments.tracking import Tracker
from fedlib.run import Run
from fedlib.validation import check_command_numbers, check_fields
from fedlib.words import counted


@dataclass
class Outcome:
    """Result of a command: all runs asked for, as they lie in the store."""

    runs: list[StoredRun] = field(default_factory=list)
    computed: int = 0  # how many of them this process computed

    @property
    def failed(self) -> list[StoredRun]:
        return [stored for stored in self.runs if stored.status == FAILED]

    @property
    def status(self) -> int:
        """Exit status: 1 if any run failed."""
        return EXIT_FAILED if self.failed else 0


def resolve_device(name: str = "auto") -> torch.device:
    """The device called auto (a GPU if there is one), cpu, cuda or cuda:<n>."""
    found = torch.cuda.device_count()
    allowed = ["auto", "cpu", *(["cuda"] if found else []), *(f"cuda:{n}" for n in range(found))]
    if name not in allowed:
        raise UsageError(f"device {name!r} given; allowed on this machine: {', '.join(allowed)}")
    if name == "auto":
        name = "cuda" if found else "cpu"
    return torch.device(name)


def run_artifact(
    artifact: Artifact,
    *,
    profile: str = "smoke",
    seeds: Iterable[int] | int | None = None,
    store: Store | Path | str | None = None,
    budget: Budget | None = None,
    names: Mapping[str, str] | None = None,
    settings: Mapping[str, Any] | None = None,
    **options: Any,
) -> Outcome:
    """Compute what is missing of an artifact at a profile and return all its runs.

    seeds: a count or a list; None takes the artifact's own. names, settings: see `selection.expand`.
    max_replicas: the most seeds trained as one computation; None takes all, and halves them when
    the GPU's memory does not suffice. max_clients_per_pass: the most clients trained in one pass; None
    takes the engine's rule, and halves it likewise. resume_across_commits: go on with runs that another
    commit or other versions began; their rows are marked. Rows of a measurement are computed and stored;
    the outcome lists runs only. Raises UsageError and DataError for bad input, BudgetExhausted when time is
    up.
    """
    store = store if isinstance(store, Store) else Store(store)
    runs = selection.expand(artifact, profile, seeds=seeds, names=names, settings=settings)
    if artifact.measurement:
        progress = options.get("progress")
        compute_measurement(artifact.measurement, profile, store, budget=budget, progress=progress)
    return run_runs(runs, store=store, budget=budget, **options)


def run_runs(
    runs: Sequence[Run],
    *,
    device: str = "auto",
    store: Store | Path | str | None = None,
    budget: Budget | None = None,
    retry_failed: bool = False,
    max_replicas: int | None = None,
    max_clients_per_pass: int | None = None,
    resume_across_commits: bool = False,
    progress: Progress | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    wait: bool = True,
    from_the_end: bool = False,
    tracker: Tracker | None = None,
    told: Mapping[str, str] | None = None,
) -> Outcome:
    """Compute those of `runs` that are not in the store; return all that are, in the order given.

    wait: for what other processes are at work on, too. from_the_end: last group first, for a second
    process: the two meet in the middle, and runs that share data or what comes before round 1 stay in one of
    them. tracker: sees every round's rows beside the store (`fedlib.experiments.tracking`). told: the
    settings that a progress line has (`labels.distinctions`); None: those that tell these runs apart.
    """
    check_command_numbers(max_replicas, max_clients_per_pass, checkpoint_seconds)
    for run in runs:
        check_fields(run)
    for members in selection.group(runs):
        check_run_names(members[0])
    where = resolve_device(device)
    groups = selection.group(runs, joined=selection.joins_methods(where.type))
    context = Context(
        store=store if isinstance(store, Store) else Store(store),
        device=where,
        budget=budget or Budget(),
        progress=progress or Progress(),
        checkpoint_seconds=checkpoint_seconds,
        max_clients_per_pass=max_clients_per_pass,
        tracker=tracker,
        told=labels.distinctions(runs) if told is None else told,
    )
    if not resume_across_commits:
        refuse_other_code(context.store, runs, context.told)
    refuse_other_files(context.store, runs)
    context.progress.expect(sum(any(context.store.get(run) is None for run in members) for members in groups))
    suite = _Suite(context, retry_failed, max_replicas)
    with current(where):
        suite.compute(groups[::-1] if from_the_end else groups, wait)
    stored = [context.store.get(run) for run in runs]
    return Outcome([found for found in stored if found is not None], suite.computed)


def refuse_other_code(store: Store, runs: Sequence[Run], told: Mapping[str, str]) -> None:
    """UsageError if a run of these that is not stored was begun under another commit or other versions.

    told: the settings that a run's line has (`labels.distinctions`).
    """
    wanted: dict[str, dict[str, Run]] = {}
    for run in runs:
        wanted.setdefault(run.id, {})[run.key] = run
    for artifact_id, asked in wanted.items():
        for folder in unfinished_groups(store, artifact_id, *{run.group_key for run in asked.values()}):
            begun = any(run.key in asked and store.get(run) is None for run in folder.runs)
            other = folder.other_code() if begun else ""
            check(
                not other,
                f"{labels.group_label(folder.runs, told)}: begun at {other}; "
                "resumed here, its rows would equal neither's; allowed: the code that began it, "
                f"--resume-across-commits (rows are marked), or deleting {folder.path} to begin again",
            )


def forget_failed(store: Store, runs: Sequence[Run]) -> None:
    """Take failed runs out of the store, so that whichever process comes to them first computes them again.

    One that another process is at work on stays.
    """
    for run in runs:
        stored = store.get(run)
        if stored is not None and stored.status == FAILED and (lock := store.try_lock(run)):
            try:
                store.forget(run)
            finally:
                lock.release()


@dataclass
class _Suite:
    context: Context
    retry_failed: bool
    max_replicas: int | None
    computed: int = 0
    retried: dict[str, bool] = field(default_factory=dict)  # key: whether it had failed; tried again once

    def compute(self, groups: Sequence[Sequence[Run]], wait: bool) -> None:
        """All groups that are free; then, on request, those that other processes hold, until none is left."""
        busy = [left for members in groups if (left := self._work_on(members))]
        if not wait:
            return
        told = 0
        while busy:
            if (waiting := sum(map(len, busy))) != told:
                told = waiting
                self.context.progress.say(f"waiting for another process at work on {counted(waiting, 'run')}")
            self.context.budget.wait()
            busy = [left for members in busy if (left := self._work_on(members))]

    def _work_on(self, members: Sequence[Run]) -> list[Run]:
        """Compute the members of one group that are missing and free; return those held elsewhere."""
        if self._nothing_to_do(members):
            return []  # nothing is written, not even a lock
        with ExitStack() as locks:
            with self.context.store.claiming(members[0].id):
                claimed, busy = self._claim(members, locks)
                missing = [run for run in claimed if self._is_missing(run)]
                resumed, fresh, held = self._resumable(members, claimed, missing, locks)
            for folder in resumed:
                self._say_resumed(folder, claimed)
                self._train(folder.runs, folder)
                fresh += self._failed_before(folder.runs)
            size = self.max_replicas or max(1, len(fresh))
            for start in range(0, len(fresh), size):
                self._train(fresh[start : start + size])
        return busy + held

    def _nothing_to_do(self, members: Sequence[Run]) -> bool:
        """Whether all is stored and whole, without a group that left checkpoints."""
        store = self.context.store
        groups = store.artifact_folder(members[0].id) / "groups"
        return not self.retry_failed and all(map(store.has, members)) and not any(groups.glob("*"))

    def _claim(self, runs: Sequence[Run], locks: ExitStack) -> tuple[list[Run], list[Run]]:
        claimed, busy = [], []
        for run in runs:
            lock = self.context.store.try_lock(run)
            if lock is None:
                busy.append(run)
            else:
                locks.callback(lock.release)
                claimed.append(run)
        return claimed, busy

    def _is_missing(self, run: Run) -> bool:
        stored = self.context.store.get_or_repair(run)
        failed = stored is not None and stored.status == FAILED
        if failed and self.retry_failed and run.key not in self.retried:
            self.context.store.forget(run)
            stored = None
        if stored is None:
            self.retried.setdefault(run.key, failed)
        return stored is None

    def _failed_before(self, runs: Sequence[Run]) -> list[Run]:
        """Runs to be tried again that a resumed checkpoint had as failed, taken out of the store."""
        store, tried = self.context.store, [run for run in runs if self.retried.get(run.key)]
        again = [run for run in tried if (one := store.get(run)) and one.status == FAILED]
        for run in again:
            store.forget(run)
        return again

    def _resumable(
        self, members: Sequence[Run], claimed: Sequence[Run], missing: Sequence[Run], locks: ExitStack
    ) -> tuple[list[GroupFolder], list[Run], list[Run]]:
        """Interrupted groups of missing runs with all their members claimed; the other runs; those held."""
        left = {run.key: run for run in missing}
        resumed, held = [], []
        descriptions = {run.group_key for run in members}
        for folder in unfinished_groups(self.context.store, members[0].id, *descriptions):
            inside = [left.pop(run.key) for run in folder.runs if run.key in left]
            if not inside:
                self._remove_if_done(folder)
                continue
            own = {run.key for run in claimed}  # a second lock of this process would find them held
            claim = ExitStack()
            _, busy = self._claim([run for run in folder.runs if run.key not in own], claim)
            if busy:
                claim.close()
                held += inside
            else:
                locks.push(claim)
                resumed.append(folder)
        return resumed, list(left.values()), held

    def _remove_if_done(self, folder: GroupFolder) -> None:
        """A process killed between storing the last member and deleting its checkpoints leaves these."""
        if all(self.context.store.get(run) is not None for run in folder.runs):
            folder.remove()

    def _say_resumed(self, folder: GroupFolder, asked: Sequence[Run]) -> None:
        extra = {run.key for run in folder.runs} - {run.key for run in asked}
        if extra:
            self.context.progress.say(
                f"{folder.runs[0].label()}: resumed with all {len(folder.runs)} runs it was begun with, "
                f"{len(extra)} of them beside those asked for, because replicas train as one computation"
            )

    def _train(self, runs: Sequence[Run], folder: GroupFolder | None = None) -> None:
        """Train a group; if memory does not hold all replicas, its halves one after the other.

        Raises MemoryShortage where it does not hold one, or a group that has to go on as it was begun.
        """
        try:
            train_group(runs, self.context, folder)
            self.computed += len(runs)
            return
        except (RuntimeError, MemoryError, MemoryShortage) as error:
            if not is_out_of_memory(error):
                raise
            if len(runs) == 1 or folder is not None:
                raise self._shortage(runs, error) from error
        forget_captures()
        # Its checkpoints would be resumed as this group at every later start, and run out of memory again
        GroupFolder(self.context.store, runs).remove()
        half = len(runs) // 2
        self.context.progress.say(
            f"{runs[0].label()}: {len(runs)} replicas do not fit in memory, trying {half}"
        )
        self._train(runs[:half])
        self._train(runs[half:])

    def _shortage(self, runs: Sequence[Run], error: BaseException) -> MemoryShortage:
        if isinstance(error, MemoryShortage):
            return MemoryShortage(f"{runs[0].label()}: {error}")
        many = f" with {len(runs)} replicas, as it was begun," if len(runs) > 1 else ""
        return MemoryShortage(
            f"{runs[0].label()}:{many} does not fit in the memory of {self.context.device} "
            f"({first_line(error)}); lower cohort_size, batch_size or the images (--set), or take "
            "another --device; rounds up to the last checkpoint are kept"
        )


def describe_group(members: Sequence[StoredRun], told: Mapping[str, str]) -> str:
    """Describe runs that differ in their seed only: final test accuracy, spread, number of seeds.

    told: see `labels.distinctions`; what the options already name is left out.
    """
    run = members[0].run
    options = {**run.dataset_options, **run.partition_options, **run.method_options}
    extra = "".join(
        f" {name}={value}" for name, value in options.items() if not isinstance(value, dict | list)
    )
    head = f"{run.id} [{run.profile}] {run.dataset} {run.partition} N={run.num_clients} {run.method}{extra}"
    differs = told.get(run.group_key, "").split(" ")[1:]
    head += "".join(f" {text}" for text in differs if f" {text.rpartition('.')[-1]}" not in extra)
    finished = [m for m in members if m.status != FAILED]
    accuracy = [m.final["test_accuracy"] for m in finished if "test_accuracy" in m.final]
    if not accuracy:
        return f"{head}: {len(finished)} of {len(members)} seeds finished"
    spread = f" ± {statistics.stdev(accuracy):.4f} (s.d.)" if len(accuracy) > 1 else ""
    stand_in = " (stand-in data)" if members[0].provenance["dataset"]["stand_in"] else ""
    seeds = counted(len(accuracy), "seed")
    return f"{head}: test accuracy {statistics.fmean(accuracy):.4f}{spread}, {seeds}{stand_in}"
