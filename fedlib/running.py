"""The command `run`: what it would compute and how long that takes, then the computing and its tables."""

import argparse
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

from fedlib import companions
from fedlib.errors import EXIT_FAILED
from fedlib.papers import PROFILES

if TYPE_CHECKING:
    from fedlib.run import Run
    from fedlib.store import Store
    from fedlib.suite import Outcome

_CELL = 60  # characters of a cell that are printed
_STARTED = time.monotonic()  # a time budget counts from here, imports included


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `run`, without the store's."""
    parser.add_argument(
        "artifacts", nargs="+", metavar="ID", help="e.g. start/curves, or a whole paper; see `fedlib list`"
    )
    parser.add_argument("--profile", default="smoke", help=f"one of {', '.join(PROFILES)} (default: smoke)")
    parser.add_argument("--seeds", help="a count (3) or a list (0,1,2); default: the artifact's own")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:<n> (default: auto)")
    parser.add_argument("--budget-minutes", type=float, help="stop cleanly before this; exit status 3")
    parser.add_argument("--data", help="only this data set of the grid, or this one in its place")
    parser.add_argument("--partition", help="only this partition of the grid, or this one in its place")
    parser.add_argument("--method", help="only this method of the grid, or this one in its place")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="e.g. rounds=5, partition.delta=0.4"
    )
    parser.add_argument(
        "--max-clients-per-pass",
        type=int,
        metavar="N",
        help="most clients trained in one pass (default: found by the engine)",
    )
    parser.add_argument("--max-replicas", type=int, help="most seeds trained as one computation")
    parser.add_argument(
        "--checkpoint-seconds",
        type=float,
        default=20.0,
        metavar="S",
        help="least time between checkpoints (default: 20)",
    )
    parser.add_argument(
        "--processes", type=int, default=1, metavar="N", help="work on the grid with so many (default: 1)"
    )
    parser.add_argument(companions.FLAG, action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--retry-failed", action="store_true", help="compute failed runs again")
    parser.add_argument("--again", action="store_true", help="compute kept rows again (timings, searches)")
    parser.add_argument("--dry-run", action="store_true", help="show the runs, compute nothing")


def run_command(arguments: argparse.Namespace) -> int:
    """Compute what the arguments ask for; returns the exit status."""
    from fedlib import grid
    from fedlib.papers import find_artifacts
    from fedlib.store import Store

    chosen = find_artifacts(arguments.artifacts)
    threads = companions.threads_of_each(arguments.processes)
    names = {"dataset": arguments.data, "partition": arguments.partition, "method": arguments.method}
    options = {
        "seeds": None if arguments.seeds is None else grid.parse_seeds(arguments.seeds),
        "names": {field: name for field, name in names.items() if name is not None},
        "settings": dict(grid.parse_setting(text) for text in arguments.set),
    }
    plans = {artifact.id: grid.expand(artifact, arguments.profile, **options) for artifact in chosen}
    for runs in plans.values():
        for members in grid.group(runs):
            grid.check_names(members[0])
    store = Store(arguments.store)
    if arguments.dry_run:
        _show_plan(plans, store)
    _show_budget(plans, arguments.profile, store, again=arguments.again)
    if arguments.dry_run:
        return 0
    from fedlib import suite

    # A killed scheduler job gets SIGTERM: it leaves its checkpoint, just as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    arguments.budget = suite.Budget(arguments.budget_minutes, started=_STARTED)
    if arguments.companion:
        return _work_through(plans, arguments, store)
    if arguments.processes > 1:
        import torch

        torch.set_num_threads(threads)
        with companions.Companions(arguments.processes - 1, arguments.command_line, threads):
            _work_through(plans, arguments, store)
        arguments.retry_failed = False  # done by now
    return _run_plans(plans, arguments, store)


def _show_plan(plans: dict[str, list], store: Any) -> None:
    from fedlib import grid
    from fedlib.expected import Timings

    timings = Timings()
    for runs in plans.values():
        for members in grid.group(runs):
            missing = [run for run in members if store.get(run) is None]
            count = f"{len(members) - len(missing)} of {len(members)} stored"
            time = f", {timings.of_runs(missing).text()}" if missing else ""
            print(f"{grid.group_label(members)}: {members[0].rounds} rounds, {count}{time}")


def _show_budget(plans: dict[str, list], profile: str, store: Any, *, again: bool) -> None:
    """One line per artifact: what is there, and what the rest will take; then all of it, shared runs once."""
    from fedlib.expected import Expected, Timings, expected_kept
    from fedlib.kept import load_kept
    from fedlib.papers import find_artifact

    kept, all_missing, timings = Expected(), {}, Timings()
    for artifact_id, runs in plans.items():
        missing, artifact = [run for run in runs if store.get(run) is None], find_artifact(artifact_id)
        artifact = find_artifact(artifact.lender) if artifact.lender else artifact
        if runs:
            all_missing |= {run.key: run for run in missing}
            time, stored = timings.of_runs(missing), f"{len(runs)} runs, {len(runs) - len(missing)} stored"
        elif artifact.keep and (again or load_kept(artifact, profile, store) is None):
            time, stored = expected_kept(artifact, profile), "computed once and kept"
            kept += time
        else:
            time, stored = Expected(), "no training"
        print(f"{artifact_id} at {profile}: {stored}; {time.text()}")
    if len(plans) > 1:
        print(f"{len(plans)} artifacts: {(timings.of_runs(all_missing.values()) + kept).text()}")


def _work_through(plans: dict[str, list], arguments: argparse.Namespace, store: Any) -> int:
    """What no other process is at work on, printing no tables. Kept rows: the first process's part."""
    from fedlib.papers import find_artifact

    for artifact_id, runs in plans.items():
        if runs:
            _compute(runs, arguments, store, wait=False)
        elif not (arguments.companion or arguments.again or find_artifact(artifact_id).alone):
            _compute_kept(artifact_id, arguments, store)
    return 0


def _run_plans(plans: dict[str, list], arguments: argparse.Namespace, store: Any) -> int:
    failed = False
    for artifact_id, runs in plans.items():
        if not runs:
            _show_computed(artifact_id, arguments, store)
            continue
        outcome = _compute(runs, arguments, store)
        _print_outcome(artifact_id, outcome)
        failed = failed or bool(outcome.failed)
    return EXIT_FAILED if failed else 0


def _compute(
    runs: list["Run"], arguments: argparse.Namespace, store: "Store", *, wait: bool = True
) -> "Outcome":
    from fedlib import suite
    from fedlib.progress import Silent

    return suite.run_runs(
        runs,
        device=arguments.device,
        store=store,
        budget=arguments.budget,
        retry_failed=arguments.retry_failed,
        max_replicas=arguments.max_replicas,
        max_clients_per_pass=arguments.max_clients_per_pass,
        progress=Silent() if arguments.companion else None,
        checkpoint_seconds=arguments.checkpoint_seconds,
        wait=wait,
        from_the_end=arguments.companion,
    )


def _show_computed(artifact_id: str, arguments: argparse.Namespace, store: "Store") -> None:
    """Rows of an artifact without training."""
    from fedlib import suite

    _compute_kept(artifact_id, arguments, store)
    rows = suite.load_rows(artifact_id, profile=arguments.profile, store=store)
    print(rows.map(_shorten).to_string(index=False, max_rows=40))


def _shorten(value: Any) -> Any:
    """A cell as a terminal can show it: pictures and long lists only begin."""
    return f"{value[:_CELL]}..." if isinstance(value, str) and len(value) > _CELL else value


def _compute_kept(artifact_id: str, arguments: argparse.Namespace, store: "Store") -> None:
    """The kept rows of an artifact, its own or its lender's, if there are to be any and they are missing."""
    from fedlib import kept
    from fedlib.papers import find_artifact

    artifact = find_artifact(artifact_id)
    owner = find_artifact(artifact.lender) if artifact.lender else artifact
    if owner.keep:
        kept.compute_kept(owner, arguments.profile, store, again=arguments.again)


def _print_outcome(artifact_id: str, outcome: "Outcome") -> None:
    from fedlib.suite import describe_group, same_description

    for members in same_description(outcome.runs):
        print(describe_group(members))
    for stored in outcome.failed:
        print(f"fedlib: {stored.run.label()}: {stored.reason}", file=sys.stderr)
    counts = f"{len(outcome.runs)} runs, {outcome.computed} computed now, {len(outcome.failed)} failed"
    print(f"{artifact_id}: {counts}")
