"""The command line, `python -m fedlib COMMAND`; `--help` lists the commands.

Bad input gives one line and exit status 2; the other statuses are in `fedlib.errors`. Everything
heavy is imported by the command that needs it, so that `list` and a typing error answer at once,
and `run` works on a machine without Jupyter.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from fedlib import __version__
from fedlib.cli import faults, numbers, output, release, results, run, show, submit, verdicts
from fedlib.cli.parsers import CommandParser, Parser
from fedlib.errors import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_NO_READER,
    EXIT_USAGE,
    FedlibError,
    UsageError,
    check,
    check_name,
)
from fedlib.experiments.artifact import PROFILES

_RESUMING = ("run", "notebooks", "reproduce", "reproduce-number")  # commands that store what they compute
_WITH_NOTEBOOKS = ("notebooks", "report", "reproduce")  # commands that need this extra


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status."""
    warnings.showwarning = faults.show_each_once()
    sys.excepthook = faults.show_fault
    arguments = argparse.Namespace(name="", shows=True)
    try:
        with output.guarded():
            make_parser().parse_args(argv, arguments)
            if argv is None:  # else the process, its path and what its signals do are the caller's
                _find_modules_here()
                faults.interrupt_on("SIGTERM", "SIGHUP")
            arguments.command_line = sys.orig_argv[1:] if argv is None else ["-m", "fedlib", *argv]
            return arguments.command(arguments)
    except FedlibError as error:
        if error.status == EXIT_NO_READER and _computes_nothing(arguments):
            return 0  # `fedlib list | head`: who reads the output has seen enough
        output.tell(f"fedlib: error: {' '.join(str(error).split())}")
        return error.status
    except ModuleNotFoundError as error:
        if str(error.name).split(".")[0] == "fedlib":
            raise
        extra = "'.[notebooks]'" if arguments.name in _WITH_NOTEBOOKS else "."
        what = f"{arguments.name} needs {error.name}, which is not installed"
        output.tell(f"fedlib: error: {what}; in a checkout: pip install -e {extra}")
        return EXIT_USAGE
    except (MemoryError, RuntimeError) as error:
        if not faults.is_out_of_memory(error):
            raise
        output.tell(f"fedlib: error: memory does not suffice ({' '.join(str(error).split())[:200]})")
        return EXIT_FAILED
    except KeyboardInterrupt:
        resumes = arguments.name in _RESUMING and not _computes_nothing(arguments)
        rest = "; what was finished is stored, the rest resumes" if resumes else ""
        output.tell(f"fedlib: interrupted{rest}")
        return EXIT_INTERRUPTED


def _find_modules_here() -> None:
    """Let the console script find a module of the current folder, as `python -m` does."""
    here = os.getcwd()
    if here not in sys.path and not sys.flags.safe_path:
        sys.path.insert(0, here)


def _computes_nothing(arguments: argparse.Namespace) -> bool:
    """Whether a command only prints: some always, others by their options."""
    given = vars(arguments)
    listed = given["name"] == "reproduce-number" and given["id"] is None
    return given["shows"] or listed or given.get("dry_run", False) or given.get("status", False)


_EXAMPLES = {
    "list": ("", "feddrl"),
    "run": (
        "start/curves",
        "feddrl/table3 --profile reduced --seeds 3 --budget-minutes 9",
        "start/curves --data mnist-5k --set partition.delta=0.4",
        "feddrl/table3 --method feddrl --set method.discount=0.5",
        "start/curves --method mypackage.module:MyMethod",
    ),
    "results": ("", "start/curves --method fedprox", "feddrl --profile smoke --delete --yes"),
    "show": ("feddrl/fig9", "start/curves --profile smoke --method mypackage.module:MyMethod"),
    "verdicts": ("", "feddrl", "FEDDRL-C1", "frl --json"),
    "data": ("list", "fetch mnist-5k", "check"),
    "figures": ("", "feddrl", "--check"),
    "notebooks": ("feddrl --profile smoke",),
    "reproduce": ("", "--profile reduced --paper start"),
    "reproduce-number": ("", "feddrl-table3-pa-fedavg --budget-minutes 30"),
    "export": ("start/sanity --profile reduced",),
}


def make_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    prog = "fedlib" if Path(sys.argv[0]).stem == "fedlib" else "python -m fedlib"
    parser = Parser(prog=prog, description="Reproduces four papers on federated learning.")
    parser.add_argument("--version", action="version", version=f"fedlib {__version__}")
    commands = parser.add_subparsers(
        dest="name", required=True, metavar="command", parser_class=CommandParser
    )

    def command(
        name: str, function: Callable[[argparse.Namespace], int], text: str
    ) -> argparse.ArgumentParser:
        examples = "\n".join(f"  python -m fedlib {name} {rest}".rstrip() for rest in _EXAMPLES.get(name, ()))
        sub = commands.add_parser(
            name, help=text, description=text, epilog=f"examples:\n{examples}" if examples else None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        sub.set_defaults(command=function, shows=name in ("list", "results", "show", "verdicts", "data"))
        return sub

    _add_list(command("list", list_command, "every artifact: id, kind, title, stored results"))
    computed = command("run", run.run_command, "compute artifacts, as far as they are not stored")
    run.add_options(computed)
    _add_store(computed)
    shown = command("results", results.results_command, "stored runs: list, filter, delete")
    results.add_results(shown)
    _add_store(shown)
    shown = command(
        "show", show.show_command, "an artifact's tables and figure from stored and committed rows"
    )
    show.add_show(shown)
    _add_store(shown)
    decided = command("verdicts", verdicts.verdicts_command, "every claim and its verdict, a line each")
    verdicts.add_options(decided)
    _add_store(decided)
    submitted = command("submit", submit.submit_command, "missing runs as jobs of a cluster (needs submitit)")
    submit.add_options(submitted)
    _add_store(submitted)
    _add_data(command("data", data_command, "data sets: list, fetch, check"))
    _add_export(command("export", export_command, "write stored rows to data/results, to be committed"))
    _add_figures(command("figures", figures_command, "draw the figures from stored rows into figures/"))
    release.add_agents(
        command(
            "agents", release.agents_command, "list the trained agents, or train them anew into data/agents"
        )
    )
    text = "rows, figures, report and agents in one zip, with checksums"
    release.add_archive(command("archive", release.archive_command, text))
    _add_notebooks(command("notebooks", notebooks_command, "run the notebooks headless"))
    _add_report(command("report", report_command, "write build/report/index.html from what is stored"))
    _add_reproduce(command("reproduce", reproduce_command, "notebooks, verdicts and report in one go"))
    repeated = command(
        "reproduce-number", numbers.reproduce_number_command, "one number of README or a notebook, compared"
    )
    numbers.add_options(repeated)
    _add_store(repeated)
    return parser


def _add_store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", metavar="FOLDER", help="run store (default: $FEDLIB_STORE or build/runs)")


def _add_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="ID", help="papers or artifacts; default: all")
    _add_store(parser)


def list_command(arguments: argparse.Namespace) -> int:
    from fedlib.experiments.results import stored_counts
    from fedlib.experiments.store import Store
    from fedlib.papers import PAPERS, find_artifacts

    store, scans, rows = Store(arguments.store), {}, []
    for artifact in find_artifacts(arguments.names or PAPERS):
        counts = stored_counts(artifact, store, scans)
        stored = ", ".join(f"{name}: {what}" for name, what in counts.items())
        absent = "computed on demand" if artifact.compute else "none"
        line = (artifact.id, artifact.kind, artifact.title, stored or absent)
        rows.append(dict(zip(("id", "kind", "title", "stored"), line, strict=True)))
    output.print_table(rows)
    return 0


def _check_names(paper: str | None, profile: str | None = None) -> None:
    """Refuse a wrong name before the slow imports of a command."""
    from fedlib.papers import paper_names

    paper_names(paper)
    if profile is not None:
        check_name("profile", profile, PROFILES)


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("artifacts", nargs="+", metavar="ID")
    parser.add_argument(
        "--profile", required=True, help="smoke rows are never committed: reduced, extended or paper"
    )
    parser.add_argument(
        "--every", type=int, default=1, help="keep rounds that are multiples of this, and the last"
    )
    _add_store(parser)


def export_command(arguments: argparse.Namespace) -> int:
    from fedlib.experiments.results import export_results
    from fedlib.papers import find_artifact

    chosen = [find_artifact(name) for name in arguments.artifacts]
    for artifact in chosen:
        artifact.check_profile(arguments.profile)
    for artifact in chosen:
        print(export_results(artifact, arguments.profile, store=arguments.store, every=arguments.every))
    return 0


def _add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "fetch", "check"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="data sets; default for list and check: all")


def data_command(arguments: argparse.Namespace) -> int:
    from fedlib import data
    from fedlib.paths import data_folder

    if arguments.action == "list":
        wanted = [data.check_dataset(name) for name in arguments.names] or data.dataset_names()
        found = [row for row in data.describe_datasets() if row.name in wanted]
        print(f"data folder: {data_folder()}")
        names = ("name", "state", "what it is", "origin, or how to get it")
        rows = [(row.name, row.state, row.what, row.origin or f"{row.looked}: {row.how}") for row in found]
        output.print_table([dict(zip(names, row, strict=True)) for row in rows], wrap=True)
        return 0
    if arguments.action == "fetch":
        return _fetch(arguments.names)
    checked = []
    for name in arguments.names or data.dataset_names():
        output.tell_if_watched(f"fedlib: checking {name}")
        checked += data.check(name)
    shown = [{"name": row.name, "verdict": row.verdict, "file": str(row.file)} for row in checked]
    output.print_table(shown, wrap=True)
    # A set that was asked for by name has to be there; in a round over all of them only damage counts.
    bad = {"damaged", "absent"} if arguments.names else {"damaged"}
    return EXIT_FAILED if any(row.verdict in bad for row in checked) else 0


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
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--profile", help="rows of this profile only (default: the largest that has rows)")
    either.add_argument(
        "--check", action="store_true", help="draw nothing; name committed figures out of date"
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="default: the repository's figures/")
    _add_store(parser)


def figures_command(arguments: argparse.Namespace) -> int:
    for paper in arguments.papers:
        _check_names(paper, arguments.profile)
    check(not (arguments.check and arguments.out), "--check and --out given; allowed: one of them")
    output.draw_without_window()
    from fedlib.reporting.figure_files import draw_figures, stale_figures

    if arguments.check:
        stale = list(stale_figures(arguments.papers, store=arguments.store))
        print("\n".join(stale) or "every figure is as it is drawn now")
        return EXIT_FAILED if stale else 0
    options = {"profile": arguments.profile, "store": arguments.store, "folder": arguments.out}
    for line in draw_figures(arguments.papers, **options):
        print(line)
    return 0


def _add_notebooks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="e.g. 00_start_here or feddrl; default: all")
    parser.add_argument("--profile", default="smoke", help=f"one of {', '.join(PROFILES)} (default: smoke)")
    parser.add_argument("--timeout", type=int, metavar="S", help="most whole seconds for one cell")
    _add_jobs(parser)


def _add_jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="notebooks at once (default: 2 at smoke, 1 else, whose times count)",
    )


def notebooks_command(arguments: argparse.Namespace) -> int:
    from fedlib.reporting.notebook_runner import run_notebooks

    results = run_notebooks(
        arguments.names, arguments.profile, timeout=arguments.timeout, jobs=arguments.jobs
    )
    return EXIT_FAILED if any(result.status != "ok" for result in results) else 0


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--paper", help="only this paper")


def report_command(arguments: argparse.Namespace) -> int:
    _check_names(arguments.paper)
    output.draw_without_window()
    from fedlib.reporting.notebook_runner import load_results
    from fedlib.reporting.reproduce import publish

    print(publish(load_results(), arguments.paper))
    return 0


def _add_reproduce(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--profile", default="smoke", help=f"one of {', '.join(PROFILES)} (default: smoke)")
    parser.add_argument("--paper", help="only this paper")
    _add_jobs(parser)


def reproduce_command(arguments: argparse.Namespace) -> int:
    _check_names(arguments.paper, arguments.profile)
    from fedlib.reporting.reproduce import reproduce

    return reproduce(arguments.profile, arguments.paper, arguments.jobs)
