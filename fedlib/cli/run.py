"""The command `run`: what it would compute and how long that takes, then the computing and its tables."""

import argparse
import contextlib
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fedlib.cli.output import tell
from fedlib.errors import EXIT_BUDGET, EXIT_FAILED, check, shortened
from fedlib.experiments import worker_processes
from fedlib.experiments.artifact import PROFILES
from fedlib.experiments.budget import BudgetExhausted
from fedlib.experiments.selection import SEEDS_HELP
from fedlib.experiments.validation import check_command_numbers
from fedlib.run import count_of_runs

if TYPE_CHECKING:
    from fedlib.experiments.artifact import Artifact, Measurement
    from fedlib.experiments.runner import Outcome
    from fedlib.experiments.store import Store
    from fedlib.run import Run

_Plans = dict["Artifact", list["Run"]]
_CELL = 60  # characters of a cell that are printed
STARTED = time.monotonic()  # a time budget counts from here, imports included


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `run`, without the store's."""
    add_selection(parser)
    add_training(parser)
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


def add_selection(parser: argparse.ArgumentParser, *, nargs: str = "+") -> None:
    """The options that choose runs, and `--dry-run`, which shows them; nargs: of the artifacts."""
    parser.add_argument(
        "artifacts", nargs=nargs, metavar="ID", help="e.g. start/curves, or a whole paper; see `fedlib list`"
    )
    parser.add_argument("--profile", default="smoke", help=f"one of {', '.join(PROFILES)} (default: smoke)")
    parser.add_argument("--seeds", help=f"{SEEDS_HELP}; default: the artifact's own")
    parser.add_argument("--data", help="only this data set of the grid, or this one in its place")
    parser.add_argument("--partition", help="only this partition of the grid, or this one in its place")
    parser.add_argument("--method", help="only this method of the grid, or this one in its place")
    parser.add_argument(
        "--only", action="append", default=[], metavar="TEXT",
        help="only the lines of --dry-run that contain this, e.g. 'ce N=100 fedavg' (may be given again)",
    )  # fmt: skip
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="e.g. rounds=5, method.discount=0.5"
    )
    parser.add_argument(
        "--skip-committed", action="store_true", help="leave out runs whose rows are in data/results"
    )
    parser.add_argument("--dry-run", action="store_true", help="show the runs, compute nothing")


def add_training(parser: argparse.ArgumentParser) -> None:
    """The options that say how a process trains its groups of runs."""
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:<n> (default: auto)")
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
        "--resume-across-commits",
        action="store_true",
        help="go on with runs that another commit or other versions began; their rows are marked",
    )
    parser.add_argument("--retry-failed", action="store_true", help="compute failed runs again")


def planned_runs(arguments: argparse.Namespace) -> _Plans:
    """The runs that the options ask for, artifact by artifact; UsageError for what does not exist."""
    from fedlib.experiments import selection
    from fedlib.papers import find_artifacts

    chosen = find_artifacts(arguments.artifacts, arguments.profile)
    check_command_numbers(
        arguments.max_replicas, arguments.max_clients_per_pass, arguments.checkpoint_seconds
    )
    names = {"dataset": arguments.data, "partition": arguments.partition, "method": arguments.method}
    options = {
        "seeds": None if arguments.seeds is None else selection.parse_seeds(arguments.seeds),
        "names": {field: name for field, name in names.items() if name is not None},
        "settings": dict(selection.parse_setting(text) for text in arguments.set),
    }
    plans = {artifact: selection.expand(artifact, arguments.profile, **options) for artifact in chosen}
    if options["names"] or options["settings"]:
        plans = _trained(plans)
    if arguments.only:
        plans = _only(plans, arguments.only)
    if arguments.skip_committed:
        plans = _uncommitted(plans)
    # imports torch: only once the names are known
    from fedlib.experiments.preflight import check_run_names, with_numbers_as_annotated

    if options["settings"]:
        given = tuple(options["settings"])
        plans = {a: [with_numbers_as_annotated(run, given) for run in runs] for a, runs in plans.items()}
    for runs in plans.values():
        for members in selection.group(runs):
            check_run_names(members[0])
    return plans


def _trained(plans: _Plans) -> _Plans:
    """The artifacts that train runs: the others have none that options could narrow or change."""
    kept = {artifact: runs for artifact, runs in plans.items() if runs}
    check(
        bool(kept),
        f"--data, --partition, --method or --set given; {', '.join(a.id for a in plans)} "
        "trains no runs that they could narrow or change; allowed: none of them",
    )
    return kept


def _only(plans: _Plans, texts: Sequence[str]) -> _Plans:
    """The runs whose line of `--dry-run` contains one of the texts; UsageError for a text in no line."""
    from fedlib.experiments import labels, selection

    told = labels.distinctions([run for runs in plans.values() for run in runs])
    groups = [(a, members) for a, runs in plans.items() for members in selection.group(runs)]
    lines = [labels.group_label(members, told) for _, members in groups]
    for text in texts:
        check(
            any(text in line for line in lines),
            f"--only {shortened(text)!r} given; allowed: a part of a line of --dry-run"
            + (f", such as {lines[0]!r}" if lines else ", but these artifacts train nothing"),
        )
    kept: _Plans = {}
    for (artifact, members), line in zip(groups, lines, strict=True):
        if any(text in line for text in texts):
            kept.setdefault(artifact, []).extend(members)
    return kept


def _uncommitted(plans: _Plans) -> _Plans:
    from fedlib.experiments.result_files import without_committed

    left = {}
    for artifact, runs in plans.items():
        left[artifact] = without_committed(runs)
        if runs and not left[artifact]:
            print(f"{artifact.id}: {count_of_runs(len(runs))}, all committed")
            del left[artifact]
    return left


def run_command(arguments: argparse.Namespace) -> int:
    """Compute what the arguments ask for; returns the exit status."""
    from fedlib.experiments.store import Store

    plans = planned_runs(arguments)
    arguments.processes = worker_processes.at_most_cores(arguments.processes)
    store = Store(arguments.store)
    if arguments.dry_run:
        show_groups(plans, store)
    show_times(plans, arguments.profile, store, again=arguments.again)
    if arguments.dry_run:
        return 0
    from fedlib.experiments import runner

    if not arguments.resume_across_commits:
        runner.refuse_other_code(store, [run for runs in plans.values() for run in runs])
    arguments.budget = runner.Budget(arguments.budget_minutes, started=STARTED)
    if arguments.companion:
        worker_processes.end_with_parent()
        return _work_through(plans, arguments, store)
    missing: set[str] = set()
    if arguments.processes > 1:
        import torch

        missing = _missing_keys(plans, store, retry_failed=arguments.retry_failed)
        threads = worker_processes.threads_of_each(arguments.processes)
        torch.set_num_threads(threads)
        with worker_processes.Companions(arguments.processes - 1, arguments.command_line, threads):
            _work_through(plans, arguments, store)
        arguments.retry_failed = False  # done by now
    return _run_plans(plans, arguments, store, missing)


def _missing_keys(plans: _Plans, store: "Store", *, retry_failed: bool) -> set[str]:
    """Keys of the runs that are to be computed. retry_failed: those that failed, too."""
    from fedlib.experiments.store import FAILED

    found = {run.key: store.get(run) for runs in plans.values() for run in runs}
    return {key for key, run in found.items() if run is None or (retry_failed and run.status == FAILED)}


def show_groups(plans: _Plans, store: "Store") -> None:
    """Print a line per group of runs: rounds, how many are stored, the time that the others take."""
    from fedlib.experiments import labels, selection
    from fedlib.experiments.durations import Timings

    timings, told = Timings(), labels.distinctions([run for runs in plans.values() for run in runs])
    for runs in plans.values():
        for members in selection.group(runs):
            missing = [run for run in members if store.get(run) is None]
            count = f"{len(members) - len(missing)} of {len(members)} stored"
            time = f", {timings.of_runs(missing).text()}" if missing else ""
            print(f"{labels.group_label(members, told)}: {members[0].rounds} rounds, {count}{time}")


def show_times(plans: _Plans, profile: str, store: "Store", *, again: bool = False) -> None:
    """Print stored runs and expected time per artifact, then the total (shared runs count once)."""
    from fedlib.experiments.durations import Expected, Timings, expected_measurement
    from fedlib.experiments.measurements import load_measurement

    measured, all_missing, timings = {}, {}, Timings()
    for artifact, runs in plans.items():
        missing, measurement = [run for run in runs if store.get(run) is None], artifact.measurement
        time, stored = Expected(), "no training"
        if runs:
            all_missing |= {run.key: run for run in missing}
            time = timings.of_runs(missing)
            stored = f"{count_of_runs(len(runs))}, {len(runs) - len(missing)} stored"
        elif measurement and (again or load_measurement(measurement, profile, store) is None):
            time, stored = expected_measurement(measurement, profile), "measured once and stored"
            measured[measurement.id] = time
        print(f"{artifact.id} at {profile}: {stored}; {time.text()}")
    if len(plans) > 1:
        total = sum(measured.values(), timings.of_runs(all_missing.values()))
        print(f"{len(plans)} artifacts: {total.text()}")


def _work_through(plans: _Plans, arguments: argparse.Namespace, store: "Store") -> int:
    """Compute the groups that no other process works on; the first process takes measurements."""
    for artifact, runs in plans.items():
        if runs:
            _compute(runs, arguments, store, wait=False)
        elif artifact.measurement and not (
            arguments.companion or arguments.again or artifact.measurement.alone
        ):
            with contextlib.suppress(BudgetExhausted):  # the caller's second pass names it
                _measure(artifact.measurement, arguments, store)
    return 0


def _run_plans(plans: _Plans, arguments: argparse.Namespace, store: "Store", missing: set[str]) -> int:
    """Compute the rest and print what there is; missing: keys that several processes began with."""
    failed, measured = False, {}
    for artifact, runs in plans.items():
        if not runs:
            found = artifact.measurement
            if found and found.id not in measured:
                measured[found.id] = _could_measure(found, arguments, store)
            if not found or measured[found.id]:
                _show_rows(artifact, arguments, store)
            continue
        outcome = _compute(runs, arguments, store)
        now = missing & {stored.run.key for stored in outcome.runs}
        missing = missing - now  # artifacts share runs
        _print_outcome(artifact.id, outcome, max(outcome.computed, len(now)), options_of_runs(arguments))
        failed = failed or bool(outcome.failed)
    if not all(measured.values()):
        return EXIT_BUDGET
    return EXIT_FAILED if failed else 0


def _compute(
    runs: list["Run"], arguments: argparse.Namespace, store: "Store", *, wait: bool = True
) -> "Outcome":
    from fedlib.experiments import runner
    from fedlib.experiments.progress import Silent
    from fedlib.experiments.tracking import make_tracker

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
        tracker=make_tracker(arguments.log, store.root / "tensorboard"),
    )


def _show_rows(artifact: "Artifact", arguments: argparse.Namespace, store: "Store") -> None:
    """Print the rows of an artifact without training."""
    from fedlib.experiments.results import load_rows

    rows = load_rows(artifact, profile=arguments.profile, store=store)
    print(rows.map(_shorten).to_string(index=False, max_rows=40))


def _shorten(value: Any) -> Any:
    """A cell as a terminal can show it: pictures and long lists only begin."""
    return f"{value[:_CELL]}..." if isinstance(value, str) and len(value) > _CELL else value


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
    names = ("profile", "data", "partition", "method", "seeds", "store")
    given = [name for name in names if getattr(arguments, name) is not None]
    return "".join(f" --{name} {getattr(arguments, name)}" for name in given)


def _print_outcome(artifact_id: str, outcome: "Outcome", computed: int, chosen: str) -> None:
    from fedlib.experiments.runner import describe_group, same_description

    for members in same_description(outcome.runs):
        print(describe_group(members))
    for stored in outcome.failed:
        print(f"fedlib: {stored.run.label()}: {stored.reason}", file=sys.stderr)
    runs = count_of_runs(len(outcome.runs))
    print(f"{artifact_id}: {runs}, {computed} computed now, {len(outcome.failed)} failed")
    if outcome.runs:
        print(f"next: python -m fedlib show {artifact_id}{chosen}")
