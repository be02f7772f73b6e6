"""The command `run`: what it would compute (`grid`), then the computing and its tables."""

import argparse
import contextlib
import re
import shlex
import sys
import time
from typing import TYPE_CHECKING

from fedlib.cli import grid
from fedlib.cli.output import tell
from fedlib.errors import EXIT_BUDGET, EXIT_FAILED, check
from fedlib.experiments import worker_processes
from fedlib.experiments.budget import BudgetExhausted
from fedlib.words import counted

if TYPE_CHECKING:
    from fedlib.experiments.artifact import Artifact, Measurement
    from fedlib.experiments.runner import Outcome
    from fedlib.experiments.store import Store
    from fedlib.run import Run

STARTED = time.monotonic()  # a time budget counts from here, imports included


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `run`, without the store's."""
    grid.add_selection(parser)
    grid.add_training(parser)
    add_budget(parser)
    parser.add_argument(
        "--processes", type=int, default=1, metavar="N", help="work on the grid with so many (default: 1)"
    )
    parser.add_argument("--log", metavar="TRACKER", help="tensorboard: rows as scalars in STORE/tensorboard")
    parser.add_argument(worker_processes.FLAG, action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--again", action="store_true", help="compute measurements again (timings, searches)")


def add_budget(parser: argparse.ArgumentParser) -> None:
    """The option that limits the time of a command."""
    parser.add_argument(
        "--budget-minutes",
        type=float,
        metavar="M",
        help="stop cleanly before this, exit status 3; a measurement (timing, search) cannot stop midway and "
        "is not begun if its committed rows took longer than is left; one never timed is begun",
    )


def run_command(arguments: argparse.Namespace) -> int:
    """Compute what the arguments ask for; returns the exit status."""
    from fedlib.experiments.budget import Budget
    from fedlib.experiments.store import Store
    from fedlib.experiments.tracking import make_tracker

    arguments.processes = worker_processes.at_most_cores(arguments.processes)
    plans, arguments.told = grid.planned_runs(arguments)
    started = worker_processes.started_at(STARTED) if arguments.companion else STARTED
    arguments.budget = Budget(arguments.budget_minutes, started=started)
    if arguments.dry_run:  # a plan may be for another machine, and needs no torch
        named = re.fullmatch(r"auto|cpu|cuda(:\d+)?", arguments.device)
        check(named is not None, f"device {arguments.device!r} given; allowed: auto, cpu, cuda, cuda:<n>")
    else:
        from fedlib.experiments import runner

        runner.resolve_device(arguments.device)
    store = Store(arguments.store)
    arguments.tracker = make_tracker(arguments.log, store.root / "tensorboard")
    if arguments.dry_run:
        grid.show_groups(plans, arguments.told, store)
        grid.show_absent_data(plans, arguments.profile, store, again=arguments.again)
    grid.show_times(plans, arguments.profile, store, again=arguments.again)
    if arguments.dry_run:
        return 0
    if not arguments.resume_across_commits:
        runner.refuse_other_code(store, grid.all_of(plans), arguments.told)
    if arguments.companion:
        worker_processes.end_with_parent()
        return _work_through(plans, arguments, store)
    missing: set[str] = set()
    if arguments.processes > 1:
        import torch

        if arguments.retry_failed:
            runner.forget_failed(store, grid.all_of(plans))
            arguments.retry_failed = False
        missing = {run.key for run in grid.all_of(plans) if store.get(run) is None}
        threads = worker_processes.threads_of_each(arguments.processes)
        torch.set_num_threads(threads)
        count = arguments.processes - 1
        with worker_processes.Companions(count, arguments.command_line, threads, started):
            _work_through(plans, arguments, store)
    return _run_plans(plans, arguments, store, missing)


def _work_through(plans: grid.Plans, arguments: argparse.Namespace, store: "Store") -> int:
    """Compute the groups and parts of measurements that no other process works on.

    Measurements that are whole or time this machine are left to the first process.
    """
    from fedlib.experiments.measurements import share_parts

    for artifact, runs in plans.items():
        measurement = artifact.measurement
        if runs:
            _compute(runs, arguments, store, wait=False)
        elif measurement and not arguments.again and not measurement.alone:
            with contextlib.suppress(BudgetExhausted):  # the caller's second pass names it
                if measurement.parts is not None:
                    given = arguments.profile, store, arguments.budget
                    share_parts(measurement, *given, last_first=arguments.companion)
                elif not arguments.companion:
                    _measure(measurement, arguments, store)
    return 0


def _run_plans(plans: grid.Plans, arguments: argparse.Namespace, store: "Store", missing: set[str]) -> int:
    """Compute the rest and print what there is; missing: keys that several processes began with."""
    failed, measured = False, {}
    for artifact, runs in plans.items():
        if not runs:
            found = artifact.measurement
            if found and found.id not in measured:
                measured[found.id] = _could_measure(found, arguments, store)
            if not found or measured[found.id]:
                _print_rows_found(artifact, arguments, store)
            continue
        outcome = _compute(runs, arguments, store)
        now = missing & {stored.run.key for stored in outcome.runs}
        missing = missing - now  # artifacts share runs
        _print_outcome(artifact, outcome, max(outcome.computed, len(now)), arguments)
        failed = failed or bool(outcome.failed)
    if not all(measured.values()):
        return EXIT_BUDGET
    return EXIT_FAILED if failed else 0


def _compute(
    runs: list["Run"], arguments: argparse.Namespace, store: "Store", *, wait: bool = True
) -> "Outcome":
    from fedlib.experiments import runner
    from fedlib.experiments.progress import Silent

    return runner.run_runs(
        runs,
        device=arguments.device,
        store=store,
        budget=arguments.budget,
        retry_failed=arguments.retry_failed,
        max_replicas=arguments.max_replicas,
        max_clients_per_pass=arguments.max_clients_per_pass,
        resume_across_commits=arguments.resume_across_commits,
        progress=Silent() if arguments.companion else None,
        checkpoint_seconds=arguments.checkpoint_seconds,
        wait=wait,
        from_the_end=arguments.companion,
        tracker=arguments.tracker,
        told=arguments.told,
    )


def _print_rows_found(artifact: "Artifact", arguments: argparse.Namespace, store: "Store") -> None:
    """Count the rows of an artifact without training, and name the command that shows them."""
    from fedlib.experiments.results import load_rows

    found = len(load_rows(artifact, profile=arguments.profile, store=store))
    print(f"{artifact.id}: {counted(found, 'row')}")
    print(f"next: python -m fedlib show {artifact.id}{_given(arguments, 'profile', 'store')}")


def _measure(measurement: "Measurement", arguments: argparse.Namespace, store: "Store") -> None:
    from fedlib.experiments.measurements import compute_measurement

    given = {"again": arguments.again, "budget": arguments.budget}
    compute_measurement(measurement, arguments.profile, store, **given)


def _could_measure(measurement: "Measurement", arguments: argparse.Namespace, store: "Store") -> bool:
    """Whether the time left suffices for a measurement; a line if not, as other work may still fit."""
    try:
        _measure(measurement, arguments, store)
    except BudgetExhausted as error:
        tell(f"fedlib: {error}")
        return False
    return True


def options_of_runs(arguments: argparse.Namespace) -> str:
    """The options that choose runs as a command line has them: `show` takes those of `run`."""
    return _given(arguments, "profile", "data", "partition", "method", "seeds", "store")


def _given(arguments: argparse.Namespace, *names: str) -> str:
    """The options of these names that were given, as a command line has them."""
    values = {name: getattr(arguments, name) for name in names}
    return "".join(f" --{name} {shlex.quote(str(v))}" for name, v in values.items() if v is not None)


def _print_outcome(
    artifact: "Artifact", outcome: "Outcome", computed: int, arguments: argparse.Namespace
) -> None:
    from fedlib.experiments.labels import distinctions
    from fedlib.experiments.runner import describe_group
    from fedlib.experiments.stored_runs import by_description

    told = distinctions(stored.run for stored in outcome.runs)
    for members in by_description(outcome.runs):
        print(describe_group(members, told))
    for stored in outcome.failed:
        print(f"fedlib: {stored.run.label()}: {stored.reason}", file=sys.stderr)
    runs = counted(len(outcome.runs), "run")
    print(f"{artifact.id}: {runs}, {computed} computed now, {len(outcome.failed)} failed")
    if outcome.runs:
        methods = {run.method for run in artifact.runs(arguments.profile)}
        own = arguments.method and arguments.method not in methods and "fedavg" in methods
        chosen = options_of_runs(arguments) + " --against fedavg" * bool(own)
        print(f"next: python -m fedlib show {_filed_under(artifact, outcome, arguments.profile)}{chosen}")


def _filed_under(artifact: "Artifact", outcome: "Outcome", profile: str) -> str:
    """ID that shows the runs: the artifact's, or of runs outside its grid the one that the store has."""
    grid = {run.group_key for run in artifact.runs(profile)}
    filed = {f"{stored.run.paper}/{stored.run.artifact}" for stored in outcome.runs}
    outside = all(stored.run.group_key not in grid for stored in outcome.runs)
    return filed.pop() if outside and len(filed) == 1 else artifact.id
