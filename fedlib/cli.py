"""The command line, `python -m fedlib COMMAND`; `--help` lists the commands.

Bad input gives one line and exit status 2; the other statuses are in `fedlib.errors`. Everything
heavy is imported by the command that needs it, so that `list` and a typing error answer at once,
and `run` works on a machine without Jupyter.
"""

import argparse
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from fedlib import __version__, companions
from fedlib.errors import EXIT_FAILED, EXIT_INTERRUPTED, FedlibError, UsageError
from fedlib.papers import PROFILES

if TYPE_CHECKING:
    from fedlib.run import Run
    from fedlib.store import Store
    from fedlib.suite import Outcome

_Command = Callable[[argparse.Namespace], int]
_STARTED = time.monotonic()  # a time budget counts from here, imports included


class _Parser(argparse.ArgumentParser):
    """argparse without its usage text before an error, which is one line here."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status."""
    warnings.showwarning = _show_warning
    try:
        arguments = make_parser().parse_args(argv)
        arguments.command_line = sys.orig_argv[1:] if argv is None else ["-m", "fedlib", *argv]
        status = arguments.command(arguments)
        sys.stdout.flush()
        return status
    except FedlibError as error:
        print(f"fedlib: error: {' '.join(str(error).split())}", file=sys.stderr)
        return error.status
    except BrokenPipeError:  # `fedlib list | head`: who reads the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("fedlib: interrupted; what was finished is stored, the rest resumes", file=sys.stderr)
        return EXIT_INTERRUPTED


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    print(f"fedlib: warning: {message}", file=sys.stderr)


def make_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = _Parser(prog="fedlib", description="Reproduces four papers on federated learning.")
    parser.add_argument("--version", action="version", version=f"fedlib {__version__}")
    commands = parser.add_subparsers(dest="name", required=True, metavar="command", parser_class=_Parser)

    def command(name: str, function: _Command, text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(command=function)
        return sub

    _add_list(command("list", list_command, "every artifact: id, kind, data it needs, stored results"))
    _add_run(command("run", run_command, "compute artifacts, as far as they are not stored"))
    _add_verdicts(command("verdicts", verdicts_command, "every claim: verdict, evidence, profile, data"))
    _add_data(command("data", data_command, "data sets: list, fetch, check"))
    _add_export(command("export", export_command, "write stored rows to data/results, to be committed"))
    _add_figures(command("figures", figures_command, "draw the figures from stored rows into figures/"))
    _add_notebooks(command("notebooks", notebooks_command, "run the notebooks headless"))
    _add_report(command("report", report_command, "write build/report/index.html from what is stored"))
    _add_reproduce(command("reproduce", reproduce_command, "notebooks, verdicts and report in one go"))
    return parser


def _add_store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", metavar="FOLDER", help="run store (default: $FEDLIB_STORE or build/runs)")


def _add_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--paper", help="only this paper")
    _add_store(parser)


def list_command(arguments: argparse.Namespace) -> int:
    from fedlib.papers import artifacts
    from fedlib.results import stored_counts
    from fedlib.store import Store

    store = Store(arguments.store)
    rows = [("artifact", "kind", "data it needs (smoke; reduced; paper)", "stored")]
    for artifact in artifacts(arguments.paper).values():
        needs = "; ".join(", ".join(artifact.needs(profile)) or "none" for profile in PROFILES)
        stored = ", ".join(f"{name}: {what}" for name, what in stored_counts(artifact, store).items())
        absent = "computed on demand" if artifact.compute and not artifact.keep else "none"
        rows.append((artifact.id, artifact.kind, needs, stored or absent))
    _print_table(rows)
    return 0


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _add_run(parser: argparse.ArgumentParser) -> None:
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
    _add_store(parser)


def run_command(arguments: argparse.Namespace) -> int:
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
    )


def _show_computed(artifact_id: str, arguments: argparse.Namespace, store: "Store") -> None:
    """Rows of an artifact without training."""
    from fedlib import suite

    _compute_kept(artifact_id, arguments, store)
    rows = suite.load_rows(artifact_id, profile=arguments.profile, store=store)
    print(rows.to_string(index=False, max_rows=40))


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


def _add_verdicts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--paper", help="only this paper")
    parser.add_argument("--profile", help="rows of this profile only (default: the largest that has rows)")
    _add_store(parser)


def verdicts_command(arguments: argparse.Namespace) -> int:
    from fedlib.verdicts import decide_claims

    rows = [("claim", "verdict", "profile", "data", "statement", "evidence")]
    for claim, verdict in decide_claims(arguments.paper, profile=arguments.profile, store=arguments.store):
        seen = (verdict.profile or "-", verdict.data or "-")
        rows.append((claim.id, verdict.verdict, *seen, claim.statement, verdict.evidence))
    _print_table(rows)
    return 0


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("artifacts", nargs="+", metavar="ID")
    parser.add_argument("--profile", required=True, help="reduced or paper")
    parser.add_argument(
        "--every", type=int, default=1, help="keep rounds that are multiples of this, and the last"
    )
    _add_store(parser)


def export_command(arguments: argparse.Namespace) -> int:
    from fedlib.results import export_results

    for name in arguments.artifacts:
        print(export_results(name, arguments.profile, store=arguments.store, every=arguments.every))
    return 0


def _add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "fetch", "check"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="data sets; default for list and check: all")


def data_command(arguments: argparse.Namespace) -> int:
    from fedlib import data

    if arguments.action == "list":
        found = data.describe_datasets()
        rows = [(row.name, row.state, row.what, row.origin or row.how) for row in found]
        _print_table([("name", "state", "what it is", "origin, or how to get it"), *rows])
        return 0
    if arguments.action == "fetch":
        return _fetch(arguments.names)
    rows = [row for name in arguments.names or data.dataset_names() for row in data.check(name)]
    _print_table([("name", "verdict", "file"), *((row.name, row.verdict, row.file) for row in rows)])
    # A set that was asked for by name has to be there; in a round over all of them only damage counts.
    bad = {"damaged", "absent"} if arguments.names else {"damaged"}
    return EXIT_FAILED if any(row.verdict in bad for row in rows) else 0


def _fetch(names: Sequence[str]) -> int:
    from fedlib import data

    if not names:
        raise UsageError(f"data fetch needs a name; allowed: {', '.join(data.dataset_names())}")
    for name in names:
        found = data.fetch(name)
        images = f"{len(found.train)} + {len(found.test)} images"
        print(f"{found.name}: {images}, {found.origin}, sha256 {found.checksum}")
    return 0


def _add_figures(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("papers", nargs="*", metavar="PAPER", help="default: all")
    parser.add_argument("--profile", help="rows of this profile only (default: the largest that has rows)")
    _add_store(parser)


def figures_command(arguments: argparse.Namespace) -> int:
    from fedlib.publish import draw_figures

    for line in draw_figures(arguments.papers, profile=arguments.profile, store=arguments.store):
        print(line)
    return 0


def _add_notebooks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="e.g. 00_start_here or feddrl; default: all")
    parser.add_argument("--profile", default="smoke", help=f"one of {', '.join(PROFILES)} (default: smoke)")
    parser.add_argument("--timeout", type=float, metavar="S", help="most seconds for one cell")


def notebooks_command(arguments: argparse.Namespace) -> int:
    from fedlib.notebooks import run_notebooks

    results = run_notebooks(arguments.names, arguments.profile, timeout=arguments.timeout)
    return EXIT_FAILED if any(result.status != "ok" for result in results) else 0


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--paper", help="only this paper")


def report_command(arguments: argparse.Namespace) -> int:
    from fedlib.notebooks import load_results
    from fedlib.publish import publish

    print(publish(load_results(), arguments.paper))
    return 0


def _add_reproduce(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--profile", default="smoke", help=f"one of {', '.join(PROFILES)} (default: smoke)")
    parser.add_argument("--paper", help="only this paper")


def reproduce_command(arguments: argparse.Namespace) -> int:
    from fedlib.publish import reproduce

    return reproduce(arguments.profile, arguments.paper)
